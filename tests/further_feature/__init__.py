"""A feature that WangTimer does not have: a timer rests in one minute of each hour, and what its targets say is kept.

Whoever adds a feature writes one folder like this one, and names it in `FEATURES` (`wangtimer/core/features.py`).
"""
