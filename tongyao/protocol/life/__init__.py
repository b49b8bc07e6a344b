"""The life of one process as a pure state machine (ARCHITECTURE.md).

Public: `machine` (the six functions), `state`, `asks` (kinds of asks), `message_kinds` (kinds of messages), `snapshot`,
`why`, `steps`. Read `phases` first: its table has every phase. Their functions are in `before_rounds`, `rounds`,
`turns` and `after_rounds`.
"""
