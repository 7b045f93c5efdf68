"""The HTTP API, on real stores and a clock moved by hand."""
