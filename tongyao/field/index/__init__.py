"""The index of a scene: in PostgreSQL for large scenes, in memory for small ones. Public: `indexer`, `store`, and the two scenes
`indexed_scene` and `in_memory_scene`.
"""
