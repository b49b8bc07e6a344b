"""Makes the same model calls with other orchestrators, on one machine in one run: `python -m bench.peers`."""
