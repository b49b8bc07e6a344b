"""The Temporal shell around `tongyao.protocol.life` (ARCHITECTURE.md).

Public: the workflow classes in `crystallization`, `maintenance`, `recitation` and `reindex`, for workers.
`step_execution` has timeouts and retries.
"""
