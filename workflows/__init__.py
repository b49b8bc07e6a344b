"""The Temporal shell around `tongyao.protocol.life` (ARCHITECTURE.md).

Public: the workflow classes in `crystallization` and `maintenance`, for workers.
`step_execution` has timeouts and retries.
"""
