"""An installation without the extra `highway` runs; what needs the extra says what to install (docs/highway.md)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg_pool import AsyncConnectionPool

from crystalline_highway.highway import Highway, UsedSpans
from crystalline_highway.store import Store

Pool = AsyncConnectionPool[Any]

REPOSITORY = Path(__file__).parents[2]
TEXT = "老木匠修门。\n老河工修闸。\n一条小舟。"

HIDDEN = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None\n"
"""Importing these raises ImportError from here on, and `importlib.util.find_spec` finds neither."""


def run_without_numba(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + script, *arguments], cwd=REPOSITORY, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", ["highway", "both"])
def test_the_setting_that_needs_the_extra_says_what_to_install(name: str) -> None:
    refused = run_without_numba(
        "from tongyao.runtime.settings import SettingsError, load_settings\n"
        "try:\n    load_settings(retriever=sys.argv[1])\n"
        "except SettingsError as error:\n    print(error)",
        name,
    )
    assert refused.returncode == 0, refused.stderr
    assert f"TONGYAO_RETRIEVER: {name!r} needs the extra `highway`" in refused.stdout
    assert "pip install 'tongyao[highway]'" in refused.stdout


def test_everything_but_the_highway_itself_can_be_imported() -> None:
    imported = run_without_numba(
        "import importlib, pathlib, worker\n"
        "from tongyao.runtime.settings import load_settings\n"
        "assert load_settings().retriever == 'chunks'\n"
        "for package in ('tongyao', 'workflows', 'activities'):\n"
        "    for path in pathlib.Path(package).rglob('*.py'):\n"
        "        name = '.'.join(path.with_suffix('').parts).removesuffix('.__init__')\n"
        "        if name != 'tongyao.runtime.retrievers':\n"
        "            importlib.import_module(name)"
    )
    assert imported.returncode == 0, imported.stderr


async def test_a_persons_memories_can_be_erased(pool: Pool, owner: str, database_url: str) -> None:
    highway = Highway(pool)
    await highway.recite(owner, 1, [TEXT])
    memory = await Store(pool).memory(owner, 1)
    assert memory is not None
    keys = memory.units.keys[: memory.base]
    counted = await Store(pool).dictionary(keys)
    await highway.recite(owner, 2, [TEXT])
    await highway.write_back(owner, 1, "an-occasion", [UsedSpans(("修门",), ((0, 0, 6),))])
    erased = run_without_numba(
        "import asyncio\n"
        "from tongyao.records.database import open_pool\n"
        "from crystalline_highway.deletion import StoredMemories\n"
        "async def main():\n"
        "    pool = await open_pool(sys.argv[1], max_size=1, keys=None)\n"
        "    await StoredMemories(pool).forget(sys.argv[2])\n"
        "    await pool.close()\n"
        "asyncio.run(main())",
        database_url,
        owner,
    )
    assert erased.returncode == 0, erased.stderr
    assert np.array_equal(await Store(pool).dictionary(keys), counted - memory.occurs)
    async with pool.connection() as connection:
        for table in ("highway_memories", "highway_starts", "highway_targets", "highway_directs", "highway_written"):
            cursor = await connection.execute(f"SELECT count(*) FROM {table} WHERE owner = %s", [owner])
            assert await cursor.fetchone() == (0,), table
