"""The operations under /api/timer/v1 and /api/task/v1: xTimer's, and ours in its manner.

That manner: ids in bodies, answers in an envelope, numbers for statuses.
"""
