"""Apps: who may ask for what, with which key."""
