"""Commands of operators: settings, schema."""
