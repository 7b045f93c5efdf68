"""Commands on timers and cron expressions."""
