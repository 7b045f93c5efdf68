"""WangTimer: a distributed timer service."""
