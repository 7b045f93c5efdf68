"""Controls: an answer may say what becomes of its timer."""
