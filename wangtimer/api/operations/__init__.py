"""What operators and readers ask: health, metrics, the documentation."""
