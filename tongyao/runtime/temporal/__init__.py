"""Temporal on the side of clients and workers (docs/temporal.md). Public: `connection`, `workers`, `payload_codec`, `build`,
`search_attributes`, `namespaces`, `replay`.
"""
