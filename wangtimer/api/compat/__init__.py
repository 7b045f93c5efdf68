"""The operations under /api/timer/v1 and /api/task/v1: xTimer's.

That style: ids in bodies, answers in an envelope, numbers for statuses.
"""
