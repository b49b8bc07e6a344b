"""The same model calls under other orchestrators, on one machine in one run: `python -m bench.peers`."""
