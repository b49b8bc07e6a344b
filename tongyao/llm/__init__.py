"""Engines that answer the model steps (docs/models.md).

Public: `engine` (interface), `errors`, `prompts`, `prices`, `cost_estimate`, and the engines `recorded`, `delegated`,
`pydantic_ai_engine`, `anthropic` and `extractive`.
"""
