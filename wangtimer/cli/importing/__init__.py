"""Imports from other schedulers: reads their files and tables, makes timers, and compares the moments of both."""
