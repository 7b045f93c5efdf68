"""Which index each statement of the product is read by, on large tables."""
