"""Turns texts into vectors. Public: `encoder` (the interface), `lexical` and `transformer` (its implementations)."""
