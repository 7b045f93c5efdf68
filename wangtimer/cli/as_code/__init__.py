"""Timers as code: files that say which timers an app is to have, and what makes it so."""
