"""The examples of the OpenAPI document, made by calling the app."""
