"""Encrypted texts, their keys, and erasure (docs/erasure.md). Public: `texts`, `keys`, `sealed_values`, `master_keys`,
`erasure`, `drafts`.
"""
