"""What the peers' worker processes run: `python -m benchmarks.peers.workers.<name>`."""
