"""The intent field: who of a scene should take part in a process (docs/field.md).

Public: `intent_field` (the searches), `retriever` (pieces of one profile), `perspectives`, `profile_import`.
"""
