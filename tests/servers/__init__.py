"""Real servers for tests and benchmarks: each with a directory and port of its own, gone with its parent."""
