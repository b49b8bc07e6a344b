"""Who committed, declined or proposed what is in `show`, `list`, the export and the report, with their words."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.command_line import room, tongyao
from tests.support.stack import Stack

PROPOSAL = "Begin in April, when the slipway is dry."


async def test_answers_are_the_same_everywhere_and_a_proposal_can_be_taken_up(stack: Stack, tmp_path: Path) -> None:
    process, aliases = await room(stack)
    for round_number in (1, 2):
        for alias in aliases.values():
            await stack.asked(process, alias, round_number)
            words = ("--text", "My workshop is free in spring.") if round_number == 1 else ("--nothing-new",)
            assert (await tongyao("say", process, "--as", alias, *words)).exit_code == 0
    await stack.until(process, "answering")
    for name, decision in (("ada", "commit"), ("cy", "decline")):
        assert (await tongyao("answer", process, decision, "--as", name)).exit_code == 0
    last = await tongyao("answer", process, "propose", "--as", "bo", "--text", PROPOSAL)
    assert last.exit_code == 0, last.output
    expected = {aliases["ada"]: "commit", aliases["bo"]: "propose", aliases["cy"]: "decline"}

    async def waits_for_the_demander() -> bool:
        asks = await stack.repositories.inbox.of_process(process, open_only=True)
        return any((ask.alias, ask.ask) == ("P00", "decision") for ask in asks)

    await stack.when(waits_for_the_demander)
    shown = json.loads((await tongyao("show", process, "--json")).stdout)
    [listed] = json.loads((await tongyao("list", "--json")).stdout)
    assert shown["answers"] == listed["answers"] == expected
    assert shown["answer_words"] == {aliases["bo"]: PROPOSAL}
    again = f"tongyao replan {process} --proposal {aliases['bo']} --without {aliases['cy']}"
    assert set(again.split()) in [set(command.split()) for command in shown["commands"]]
    told = (await tongyao("show", process)).stdout
    assert "Answers" in told and "decline" in told
    folder = tmp_path / "export"
    assert (await tongyao("export", process, "--to", str(folder))).exit_code == 0
    exported = json.loads((folder / "answers.json").read_text())
    assert {alias: one["answer"] for alias, one in exported.items()} == expected
    assert exported[aliases["bo"]]["words"] == PROPOSAL
    assert PROPOSAL in (folder / "report.html").read_text()
    taken_up = await tongyao("replan", process, "--proposal", "bo", "--without", "cy")
    assert taken_up.exit_code == 0, taken_up.output

    async def planned_again() -> bool:
        latest = await stack.repositories.plans.latest(process)
        return latest is not None and latest.revision == 2

    await stack.when(planned_again)
    await tongyao("cancel", process)
