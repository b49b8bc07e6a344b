"""Clients and workers of Temporal (docs/temporal.md). Public: `connection`, `workers`, `payload_codec`, `build`,
`search_attributes`, `namespaces`, `replay`.
"""
