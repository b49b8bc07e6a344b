"""Use cases of people: registration, profiles, scenes, tokens and sessions, consents, search, own agents, erasure.

All modules are public. `profile_source` has the interface to people's own agents.
"""
