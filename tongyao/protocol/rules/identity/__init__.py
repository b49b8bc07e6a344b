"""How names of persons and contacts are replaced for others, and how an erased person's words are removed
(docs/protocol.md §6.3, docs/erasure.md). All modules are public.
"""
