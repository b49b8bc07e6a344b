"""Model calls of all model steps. Public: `model_calls` (at most one settled answer, at most one repair), `budget`,
`scene_prompts`.
"""
