"""Texts as vectors. Public: `encoder` (the interface), `lexical` and `transformer` (its implementations)."""
