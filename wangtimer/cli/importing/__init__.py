"""What other schedulers have, as timers of ours: read from their files and tables, and held against ours."""
