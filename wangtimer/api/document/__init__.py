"""What the OpenAPI document says beyond what the routes and their models say of themselves."""
