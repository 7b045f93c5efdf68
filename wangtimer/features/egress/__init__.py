"""What calls may connect to, and the ways out that apps have of their own."""
