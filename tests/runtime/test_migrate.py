"""Migrations are applied once, in order, whole or not at all, whoever else is doing the same."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tongyao.records.migrate import migrate
from tongyao.runtime.local.postgres import LocalPostgres

numbers = itertools.count(1)

SHOUT = """-- A function whose body has semicolons, a cast, a percent sign and a colon.
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.word LIKE 'a%' THEN
    NEW.word := upper(NEW.word::text);
  END IF;
  RETURN NEW;
END;
$$;

CREATE TRIGGER shout BEFORE INSERT ON words FOR EACH ROW EXECUTE FUNCTION shout();
"""


@pytest.fixture
def empty_url(postgres_server: LocalPostgres) -> str:
    name = f"empty_{next(numbers)}"
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return postgres_server.url(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_words.sql").write_text("CREATE TABLE words (word text NOT NULL);")
    (tmp_path / "0002_shout.sql").write_text(SHOUT)
    return tmp_path


def test_files_are_applied_in_order_and_once(empty_url: str, folder: Path) -> None:
    assert migrate(empty_url, folder) == ["0001_words", "0002_shout"]
    assert migrate(empty_url, folder) == []
    with psycopg.connect(empty_url) as connection:
        connection.execute("INSERT INTO words VALUES ('any'), ('one')")
        assert connection.execute("SELECT word FROM words ORDER BY 1").fetchall() == [("ANY",), ("one",)]


def test_a_file_that_fails_leaves_nothing_of_itself(empty_url: str, folder: Path) -> None:
    (folder / "0003_broken.sql").write_text("CREATE TABLE half (); SELECT no_such_column FROM words;")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        migrate(empty_url, folder)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT to_regclass('half'), to_regclass('words') IS NOT NULL").fetchone() == (
            None,
            True,
        )
    (folder / "0003_broken.sql").write_text("CREATE TABLE half ();")
    assert migrate(empty_url, folder) == ["0003_broken"]


def test_many_at_once_apply_each_file_once(empty_url: str, folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(lambda _: migrate(empty_url, folder), range(4)))
    assert sorted(applied) == [[], [], [], ["0001_words", "0002_shout"]]


def test_another_kind_of_database_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="must begin with postgresql://"):
        migrate("sqlite:///words.db", folder)
