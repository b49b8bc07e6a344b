"""`tongyao rewrap`: a new master key takes over, and the old one is needed no more."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tongyao.cli import app
from tongyao.records.privacy.keys import KeyMissing
from tongyao.runtime import wiring
from tongyao.runtime.settings import load_settings

OLD, NEW = (base64.b64encode(letter * 32).decode() for letter in (b"o", b"n"))


async def _put(words: str) -> str:
    async with wiring.repositories(load_settings()) as repositories:
        return await repositories.texts.put("ada", "words", words)


async def _get(text_id: str) -> str:
    async with wiring.repositories(load_settings()) as repositories:
        return await repositories.texts.get(text_id)


def test_a_new_master_key_takes_over(fresh_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path))
    monkeypatch.setenv("TONGYAO_MASTER_KEY", OLD)
    text_id = asyncio.run(_put("a loom"))

    monkeypatch.setenv("TONGYAO_MASTER_KEY", f"{NEW},{OLD}")
    done = CliRunner().invoke(app, ["rewrap"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("1 data keys wrapped anew")

    monkeypatch.setenv("TONGYAO_MASTER_KEY", NEW)
    assert asyncio.run(_get(text_id)) == "a loom"
    monkeypatch.setenv("TONGYAO_MASTER_KEY", OLD)
    with pytest.raises(KeyMissing):
        asyncio.run(_get(text_id))
