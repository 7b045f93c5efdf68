"""Who may do what: the one gate before all routes, and the right that each route needs."""
