"""Rows of processes: seats, rounds, plans, messages, events, the inbox. All modules are public, through
`records.repositories`.

`journal` writes the outbox. `process_rows` and `events` read the rows that it wrote.
"""
