"""Commands on firings."""
