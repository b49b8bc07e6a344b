"""The index of a scene: in PostgreSQL for large scenes, in memory for small scenes.

Public: `indexer`, `store`, and the two kinds of scenes, `indexed_scene` and `fitted_scene`.
"""
