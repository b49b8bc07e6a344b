"""Rules on the types of `protocol.model`, as pure functions. All modules are public.

`convergence`: the end of the rounds. `standing`: the valid statements. `read_access`, `request_access`,
`event_read_access`: the data that each party may read. The names of the other modules describe their rules.
"""
