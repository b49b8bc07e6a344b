"""Data types of the protocol, immutable pydantic models. All modules are public.

`value` has the base classes. Only `ids` parses ids. Only `rewrite` walks over trees of values.
"""
