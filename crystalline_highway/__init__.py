"""The Crystalline Highway (README.md): `highway.py` is the public interface over PostgreSQL, and `deletion.py` deletes.

`recite/staging.py` indexes, `seek/seeking.py` and `seek/output.py` search, all in memory and without a database. This
module imports none of them, because `deletion.py` must work without numba.
"""

from pathlib import Path

MIGRATIONS = Path(__file__).parent / "migrations"
"""The folder of the SQL files that create the tables. They are applied in the order of their names."""
