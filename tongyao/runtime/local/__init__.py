"""PostgreSQL, Temporal and worker on one machine (`tongyao up`). Public: `service`, `postgres`, `temporal_binary`,
`addresses`, `server_process`, `worker_process`.
"""
