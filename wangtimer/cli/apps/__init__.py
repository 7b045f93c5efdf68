"""Commands of operators: apps and their API keys."""
