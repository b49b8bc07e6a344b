"""`tongyao keys`: a new master key takes over, and the old one opens no text any more."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
from temporalio.client import Client
from typer.testing import CliRunner, Result

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tests.support.until import until
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
    done = CliRunner().invoke(app, ["keys", "rotate"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("1 data key wrapped anew")

    monkeypatch.setenv("TONGYAO_MASTER_KEY", NEW)
    assert asyncio.run(_get(text_id)) == "a loom"
    monkeypatch.setenv("TONGYAO_MASTER_KEY", OLD)
    with pytest.raises(KeyMissing):
        asyncio.run(_get(text_id))


def keys(*words: str) -> Result:
    return CliRunner().invoke(app, ["keys", *words], env={"COLUMNS": "200"})


def test_a_new_key_in_the_homes_file_takes_over_and_programs_that_run_follow_it(
    fresh_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path))

    async def while_a_program_runs() -> tuple[str, str]:
        async with wiring.repositories(load_settings()) as running:
            first = await running.texts.put("ada", "words", "a loom")
            assert (await asyncio.to_thread(keys, "rotate", "--dry-run")).output.startswith("1 data key would be")
            unchanged = (tmp_path / "master.key").read_text()
            done = await asyncio.to_thread(keys, "rotate")
            assert done.exit_code == 0 and done.output.startswith("1 data key wrapped anew"), done.output
            assert (tmp_path / "master.key").read_text().splitlines()[1:] == unchanged.splitlines()
            second = await running.texts.put("bo", "words", "a crane")
            return await running.texts.get(first), await running.texts.get(second)

    assert asyncio.run(while_a_program_runs()) == ("a loom", "a crane")
    shown = keys("rotate", "--dry-run")
    assert shown.output.startswith("2 data keys would be wrapped anew"), shown.output


async def test_an_old_key_goes_only_when_no_history_in_temporal_may_need_it(
    temporal: Client, fresh_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal.service_client.config.target_host)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path))
    async with open_stack(temporal, fresh_database_url, ScriptedEngine(Script())) as stack:
        await stack.start(await stack.people({"ada": "I weave.", "bo": "I lift cranes."}), auto_confirm=True)

        async def visible() -> bool:
            return (await temporal.count_workflows()).count > 0

        await until(visible)
    assert (await asyncio.to_thread(keys, "retire")).output.strip() == "there is no older key"
    assert (await asyncio.to_thread(keys, "rotate")).exit_code == 0
    refused = await asyncio.to_thread(keys, "retire")
    assert refused.exit_code == 4
    assert len((tmp_path / "master.key").read_text().split()) == 2
    assert "may need an older key" in (await asyncio.to_thread(keys, "show")).output
