"""`revise` keeps what is not named, and can open an editor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.commands.command_line import TEXTS, tongyao
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.commands.tension_editing import tension_as_text, tension_of_text
from tongyao.protocol.model.tension import MISSING, Tension

WHOLE = Tension(
    transition="From a hired boat to one of our own.",
    initial_state="Nine families, one slipway.",
    barriers=("no crane", "no licence"),
    exchange="two moorings",
)


async def confirming(stack: Stack) -> str:
    process = await stack.start(await stack.people(TEXTS), tension=WHOLE)
    await stack.until(process, "confirming")
    return process


async def revised_tension(stack: Stack, process: str) -> Tension:
    """The tension once the records show another one than at the start."""

    async def shown() -> bool:
        return (await stack.repositories.record(process, own=["P00"])).own_tension not in (None, WHOLE)

    await until(shown)
    tension = (await stack.repositories.record(process, own=["P00"])).own_tension
    assert tension is not None
    return tension


async def test_what_is_not_named_stays_and_an_empty_part_is_emptied(stack: Stack) -> None:
    process = await confirming(stack)
    done = await tongyao("revise", process, "--barrier", "no crane at low tide", "--exchange", "")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("the tension now has your wording and still waits for confirmation")
    revised = await revised_tension(stack, process)
    assert (revised.transition, revised.initial_state) == (WHOLE.transition, WHOLE.initial_state)
    assert (revised.barriers, revised.exchange) == (("no crane at low tide",), MISSING)
    await tongyao("cancel", process)


async def test_the_whole_tension_can_be_written_in_an_editor(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await confirming(stack)
    (script := tmp_path / "editor.py").write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "file.write_text(file.read_text().replace('- no licence', '- no licence\\n- nobody at home by day'))\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    done = await tongyao("revise", process, "--edit")
    assert done.exit_code == 0, done.output
    revised = await revised_tension(stack, process)
    assert revised.barriers == ("no crane", "no licence", "nobody at home by day")
    assert revised.exchange == WHOLE.exchange
    await tongyao("cancel", process)


def test_the_text_of_the_editor_is_read_back_as_it_was() -> None:
    parts = WHOLE.model_dump(include={"transition", "initial_state", "barriers", "exchange"})
    assert tension_of_text(tension_as_text(parts)) == {**parts, "barriers": list(WHOLE.barriers)}
    missing = {"transition": "To one of our own.", "barriers": []}
    assert tension_of_text(tension_as_text(missing)) == {"transition": "To one of our own."}
