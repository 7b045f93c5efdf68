"""Steps before a call that ask of a firing what its timer's owner or an operator wants of it."""
