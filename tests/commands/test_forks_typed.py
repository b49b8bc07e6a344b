"""`fork` and `compare` as they are typed, and the form of the console."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.command_line import tongyao
from tests.support.stack import Stack
from tests.workflows.conftest import TEXTS
from tongyao.app.errors import BadInput
from tongyao.protocol.model.process import Phase


async def test_a_fork_is_started_and_compared_on_the_command_line(stack: Stack, tmp_path: Path) -> None:
    origin = await stack.start(await stack.people(TEXTS), auto_confirm=True)
    await stack.end(origin)
    newcomer, tension = tmp_path / "newcomer.md", tmp_path / "tension.json"
    newcomer.write_text("# Eli Newcomer\n\nI can lend a barge. I will not sail at night.\n", encoding="utf-8")
    tension.write_text(json.dumps({"transition": "A ferry that goes in winter"}), encoding="utf-8")

    started = await tongyao("fork", origin, "--add", str(newcomer), "--tension", str(tension), "--json")
    assert started.exit_code == 0, started.output
    fork = json.loads(started.stdout)["id"]
    await stack.until_ended(fork)
    record = await stack.repositories.record(fork)
    assert record.phase is Phase.COMPLETED
    assert [one.alias for one in record.participants] == ["P01", "P02", "P03", "P04", "P05"]
    assert record.tension is not None
    assert record.tension.transition == "A ferry that goes in winter"

    page = tmp_path / "page.html"
    compared = await tongyao("compare", origin, fork, "--html", str(page), "--json")
    assert compared.exit_code == 0, compared.output
    sides = json.loads(compared.stdout)["sides"]
    assert [(one["forked_from"], one["taken"]) for one in sides] == [(None, 0), (origin, 0)]
    shown = page.read_text(encoding="utf-8")
    assert shown.count("<svg") == 2
    assert "barge" in shown
    told = await tongyao("compare", origin, fork)
    assert "barge" in told.stdout
    assert f"fork of {origin}" in (await tongyao("show", fork)).stdout
    assert isinstance((await tongyao("fork", origin, "--without", "P09")).exception, BadInput)
    assert isinstance((await tongyao("compare", origin)).exception, BadInput)
