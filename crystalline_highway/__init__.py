"""The Crystalline Highway (README.md): `highway.py` is the public interface over PostgreSQL, and `deletion.py` deletes.

`recite/staging.py`, `seek/seeking.py` and `seek/output.py` index and search in memory, without a database. This module
imports neither, because `deletion.py` must work where numba is not installed.
"""

from pathlib import Path

MIGRATIONS = Path(__file__).parent / "migrations"
"""The folder of the SQL files that make the tables, to be applied in the order of their names."""
