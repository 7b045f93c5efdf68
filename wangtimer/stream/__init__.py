"""The stream: consumers that cannot be reached connect here, and get their app's firings as server-sent events.

One thread, for all connections; what waits for SQL runs in a few others.
"""
