"""Checks of model answers (docs/guards.md): pure functions from an answer and its request to complaints.

Public: `checks` (the types and the merge of a repair), one module for each step (`items`, `observations`, `plans`),
`fallback`, `quoting` and `support`.
"""
