"""When a timer fires: cron expressions, intervals and single moments, their bounds and their closed days."""
