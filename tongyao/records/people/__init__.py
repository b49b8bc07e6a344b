"""Rows about people: profiles, scenes, tokens, consents, mandates, agents of their own, notifications. All modules are public,
through `records.repositories`.
"""
