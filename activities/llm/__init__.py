"""Model calls of all model steps.

Public: `model_calls` (at most one stored answer and one repair per call), `budget`, `scene_prompts`.
"""
