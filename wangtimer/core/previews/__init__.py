"""What a schedule comes to: its moments, its words, its warnings."""
