"""Engines that answer the model steps (docs/models.md).

Public: `engine` (the interface), `errors`, `prompts`, `prices`, and the engines `recorded`, `delegated`,
`pydantic_ai_engine`, `anthropic` and `extractive`.
"""
