"""Records of firings: xTimer's operation under /api/task/v1."""
