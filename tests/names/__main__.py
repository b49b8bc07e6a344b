"""How many names of persons and firms are found without a model: `python -m tests.names`."""

from __future__ import annotations

from tests.names.scores import table

if __name__ == "__main__":
    print(table())
