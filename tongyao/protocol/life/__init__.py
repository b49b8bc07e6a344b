"""The life of one process as a pure state machine (ARCHITECTURE.md). Read in this order: `phases` (the table of phases),
`machine` (kinds of messages), `state`, then the functions of the phases in `before_rounds`, `rounds` (with `turns`) and
`after_rounds`. `clock`: process time and suspensions. `passed_deadlines`: the step before a deadline takes effect.
`parking`: steps that wait for answers from outside. `asks`: kinds of asks. `snapshot`, `why`: what is shown of a state.
"""
