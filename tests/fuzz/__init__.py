"""schemathesis against the app, driven by the OpenAPI document alone: whatever operations it has are called."""
