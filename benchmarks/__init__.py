"""Benchmarks: workloads on real processes, and the peers beside them (`make bench`)."""
