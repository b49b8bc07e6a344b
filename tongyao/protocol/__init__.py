"""Types and rules of the protocol (docs/protocol.md). Pure: no input or output, no clock, no randomness.

`model` has the types, `rules` and `guards` functions on them, `life` the state machine of a process, `contracts` the
types that cross Temporal, `documents` the documents made from a record.
"""
