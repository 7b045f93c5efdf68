"""WangTimer: a distributed timer service."""

# Not read from a distribution: `wangtimer` and `wangtimer-testing` are made of the same sources.
VERSION = "0.2.0"
