"""Commands of operators: settings, schema, secrets."""
