"""What features do beside the way of a firing. One feature, one module or folder."""
