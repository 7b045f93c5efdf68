"""Previews of a schedule: its next moments, its description in words, its warnings."""
