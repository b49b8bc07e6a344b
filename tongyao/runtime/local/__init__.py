"""PostgreSQL, Temporal, worker and gateway on one machine (`tongyao up`). Public: `service`, `postgres`, `temporal_binary`,
`addresses`, `processes`.
"""
