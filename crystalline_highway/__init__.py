"""The Crystalline Highway (README.md). `highway.py` is the public interface with storage in PostgreSQL. `deletion.py`
deletes stored data.

`recite/staging.py` indexes, and `seek/seeking.py` and `seek/output.py` search. These three work in memory, without a
database. This module imports none of them, because `deletion.py` must work without numba.
"""

from pathlib import Path

MIGRATIONS = Path(__file__).parent / "migrations"
"""The folder of the SQL files that create the tables. They are applied in the order of their names."""
