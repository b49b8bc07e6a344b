"""The life of one process as a pure state machine (ARCHITECTURE.md).

Public: `machine` (the six functions, and the table of kinds of messages), `state`, `asks` (kinds of asks), `snapshot`,
`why`. Read the table of phases in `phases` first. The functions of the phases are in `before_rounds`, `rounds`,
`turns` and `after_rounds`.
"""
