"""What the commands have in common: options, output, rounds of work."""
