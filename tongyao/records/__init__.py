"""The data that the product stores in PostgreSQL. `migrate` applies `migrations/` in the order of their numbers.

Public: `repositories` (all queries of one database, by subject), `database` (the pool and transactions), `maintenance`,
`operators_overview`. Each repository is one module, and only this module writes the repository's tables.
"""
