"""Rows about people: profiles, scenes, tokens, consents, mandates, their own agents, notifications.

All modules are public through `records.repositories`.
"""
