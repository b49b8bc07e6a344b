"""The intent field: finds the people of a scene who should take part in a process (docs/field.md).

Public: `intent_field` (the searches), `retriever` (pieces of one profile), `perspectives`, `profile_import`.
"""
