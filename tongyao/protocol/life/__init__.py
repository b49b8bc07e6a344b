"""The life of one process as a pure state machine (ARCHITECTURE.md).

Public: `machine` (its functions, and the table of kinds of messages), `state`, `asks` (kinds of asks), `snapshot`,
`why`. Read in this order: `phases` (the table of phases), `machine`, `state`, then the functions of the phases in
`before_rounds`, `rounds` (with `turns`) and `after_rounds`. `clock` has process time and suspensions,
`passed_deadlines` the step before a deadline takes effect, `parking` the steps that wait for answers from outside.
"""
