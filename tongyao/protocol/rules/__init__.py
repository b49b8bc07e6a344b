"""Rules on the types of `protocol.model`, as pure functions. All modules are public.

`convergence`: when rounds end. `standing`: which statements hold. `read_access`, `request_access`, `event_read_access`: who may
read what. `consent`, `refusals`, `formulation`, `audit`: as their names say.
"""
