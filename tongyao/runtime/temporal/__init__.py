"""Clients and workers of Temporal (docs/temporal.md). Public: `connection`, `workers`, `payload_codec`, `build`,
`namespaces`, `replay`.
"""
