"""Who may do what: the one gate before all routes."""
