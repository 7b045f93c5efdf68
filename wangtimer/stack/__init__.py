"""What runs the service on one machine: the Procfile's processes, kept alive and ended together.

The service itself never imports this package.
"""
