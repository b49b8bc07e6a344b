"""Types and rules of the protocol (docs/protocol.md). Pure: no input or output, no clock, no randomness.

`model` has the types. `rules` and `guards` have functions on these types. `life` has the state machine of a process.
`contracts` has the types that cross Temporal. `documents` has the documents that are made from a record.
"""
