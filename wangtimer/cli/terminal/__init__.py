"""What the commands share: options, output, rounds of work."""
