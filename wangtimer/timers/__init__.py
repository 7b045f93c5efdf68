"""What is asked of timers and of their firings, and what keeps their numbers in bounds."""
