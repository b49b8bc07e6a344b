"""The engine without a model (docs/extractive.md), and names that are found in a text without a model.

Public: `engine`, `names_in_text`. `steps` runs in processes with limits.
"""
