"""PostgreSQL, Temporal and worker on one machine (`tongyao up`). Public: `service`, `postgres`, `temporal_binary`,
`addresses`, `processes`, `worker_process`.
"""
