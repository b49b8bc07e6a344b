"""PostgreSQL: what the product stores, and its migrations (`migrations/`, applied in the order of their numbers by `migrate`).

Public: `repositories` (all queries of one database, by subject), `database` (the pool and transactions), `maintenance`,
`overview`. A repository has one module; its tables are written nowhere else.
"""
