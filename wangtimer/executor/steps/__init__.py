"""Steps before a call, but the first two, the verifier and `wanted`: `executor/case.py` has their protocol."""
