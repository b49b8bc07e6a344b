"""The engine without a model (docs/extractive.md).

Public: `engine`. `steps` runs in processes with limits.
"""
