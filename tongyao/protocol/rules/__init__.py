"""Rules on the types of `protocol.model`, as pure functions. All modules are public.

`convergence`: when rounds end. `standing`: which statements are valid. `read_access`, `request_access`,
`event_read_access`: who may read which data. The names of the other modules state their subjects.
"""
