"""The package `crystalline_highway` can be used alone: its README runs, and its migrations make its tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import psycopg
from psycopg_pool import AsyncConnectionPool

import crystalline_highway
from crystalline_highway.highway import Highway, UsedSpans
from tongyao.records.migrate import migrate, names
from tongyao.runtime.local.postgres import LocalPostgres

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "crystalline_highway" / "README.md"
TEXT = "老木匠修门。\n老河工修闸。\n一条小舟。"
WITHOUT_TONGYAO = "import sys; sys.modules['tongyao'] = None\n"
"""Importing it raises ImportError from here on."""


def test_the_lines_of_the_readme_print_what_it_says_and_need_nothing_of_tongyao() -> None:
    page = README.read_text(encoding="utf-8")
    [lines] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert len(lines.replace("\n\n", "\n").splitlines()) == 5
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_TONGYAO + lines], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == printed


async def test_its_own_migrations_are_all_that_its_tables_need(postgres_server: LocalPostgres) -> None:
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE highway_alone")
    url = postgres_server.url("highway_alone")
    assert migrate(url, crystalline_highway.MIGRATIONS)
    async with AsyncConnectionPool(url, min_size=1, max_size=2, open=False) as pool:
        highway = Highway(pool)
        await highway.recite("ada", 1, [TEXT])
        assert await highway.write_back("ada", 1, "an-occasion", [UsedSpans(("修门",), ((0, 0, 6),))])
        found, _ = await highway.seek("ada", 1, [TEXT], [("T", "修门")])
        assert found.short[0].text == "老木匠修门。"
        await highway.forget("ada")
    assert migrate(url), "the tables of Tongyao are added to the same database"


def test_migrations_that_databases_have_keep_their_names() -> None:
    """By its name alone a database knows that it has a file. A renamed one would be applied again, and fail."""
    assert {"0030_highway", "0031_recite_again", "0032_highway_bound", "0036_unread_column"} <= names()
