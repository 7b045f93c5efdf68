"""The parts of the OpenAPI document that do not come from the routes and their models."""
