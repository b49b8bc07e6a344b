"""With `--json` a command prints JSON on standard output and nothing else. What it logs goes to standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import structlog
from typer.main import get_group

from tests.commands.command_line import room, tongyao
from tests.support.stack import Stack
from tongyao import cli
from tongyao.app.context import AppContext
from tongyao.runtime import wiring

ELSEWHERE: Final = {
    "eval",
    "experiment",
    "fork",
    "compare",
    "calls list",
    "calls next",
    "calls answer",
    "calls connect",
}
"""`eval` and `experiment` run whole cases on a service of its own: too long for here. `fork` and `compare` need a process with a plan: test_forks_typed.py. Calls wait with another engine: test_calls.py."""
LINES: Final = {"watch", "field search"}
"""They print a document a line."""


def commands_with_json() -> set[str]:
    """Every command of the tree that has the option, as it is typed."""

    def below(group: Any, words: tuple[str, ...]) -> set[str]:
        found = set()
        for name in group.list_commands(None):
            command = group.get_command(None, name)
            if hasattr(command, "list_commands"):
                found |= below(command, (*words, name))
            elif any("--json" in one.opts for one in command.params):
                found.add(" ".join((*words, name)))
        return found

    return below(get_group(cli.app), ())


def calls(process: str, people: list[str], folder: Path) -> dict[str, list[str]]:
    """What follows each command. Those that end something come last."""
    return {
        "reconcile": [],
        "show": [process],
        "list": [],
        "log": [process],
        "versions": [],
        "replay": [process],
        "schedules": [],
        "tree": [process],
        "cost": [],
        "plan acceptance": [],
        "field import": [str(folder / "people.json"), "--scene", "quay"],
        "field list": [],
        "field search": ["somebody who mends nets", "--scene", "quay"],
        "field stats": [],
        "field evaluate": [str(folder / "needs.jsonl"), "--scene", "quay"],
        "start": ["--intent", "The slipway is to be used in winter.", *(f"--participant={one}" for one in people)],
        "erase": [people[0], "--dry-run"],
        "watch": [process],
    }


def written(folder: Path) -> None:
    people = {f"net-{number}": {"text": f"I mend nets and sails in shed {number}. " * 5} for number in range(4)}
    folder.joinpath("people.json").write_text(json.dumps(people), encoding="utf-8")
    need = {"id": "n1", "need": "somebody who mends nets", "level": "direct", "expected": ["net-1"], "minimum": 1}
    folder.joinpath("needs.jsonl").write_text(json.dumps(need) + "\n", encoding="utf-8")


@pytest.fixture
def logging_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that joins the service logs a line, in a program whose logs nobody has configured."""
    build = wiring.app_context

    def build_and_log(*given: Any, **named: Any) -> AppContext:
        structlog.get_logger().warning("something of note")
        return build(*given, **named)

    monkeypatch.setattr(wiring, "app_context", build_and_log)
    structlog.reset_defaults()


@pytest.mark.usefixtures("logging_commands")
async def test_every_command_with_json_prints_json_alone(stack: Stack, tmp_path: Path) -> None:
    process, _ = await room(stack)
    people = [str(seat.profile_id) for seat in await stack.repositories.seats.seats(process)]
    written(tmp_path)
    table = calls(process, people, tmp_path)
    assert set(table) | ELSEWHERE == commands_with_json()
    for command, words in table.items():
        if command == "watch":
            await tongyao("cancel", process)
        done = await tongyao(*command.split(), *words, "--json")
        assert done.stdout, (command, done.output, done.exception)
        for document in done.stdout.splitlines() if command in LINES else [done.stdout]:
            try:
                json.loads(document)
            except ValueError:
                pytest.fail(f"{command} --json printed: {document[:300]}")
