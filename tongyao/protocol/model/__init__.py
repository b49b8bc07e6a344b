"""Data types of the protocol, immutable pydantic models. All modules are public.

`value` has the base classes. `ids` is the only place that parses an id, `rewrite` the only walk over a tree of values.
"""
