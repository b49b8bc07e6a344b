"""Who committed, declined or proposed what is in `show`, `list`, the plan, the export, the report, the API and MCP, with their words."""

from __future__ import annotations

import json
import re
from pathlib import Path

from mcp.client import Client

from tests.commands.command_line import TEXTS, room, spoken_to_the_plan, tongyao
from tests.gateway.conftest import GatewayHarness, said_by
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.server import application
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.sizes import shortened

PROPOSAL = "Begin in April, when the slipway is dry."


def agreed_in(plan: str) -> str:
    """The list of what is agreed in the text of a plan."""
    return " ".join(plan.split("What is agreed so far")[1].split("Sources")[0].split())


def lists_before(plan: str, aliases: dict[str, str]) -> bool:
    """Whether the text of a plan names who answered what to plan 1, with the words of a proposal."""
    before = plan.split("Answers to plan 1")[1]
    return PROPOSAL in before and all(alias in before for alias in aliases.values())


def lists_all(agreed: str, aliases: dict[str, str]) -> bool:
    """Whether it names who committed, who declined and who proposed what, each under their heading."""
    parts = re.split("(Committed|Declined|Proposed a change|No answer)", agreed)
    under = dict(zip(parts[1::2], parts[2::2], strict=True))
    return (
        aliases["ada"] in under["Committed"]
        and aliases["cy"] in under["Declined"]
        and aliases["bo"] in under["Proposed a change"]
        and PROPOSAL in under["Proposed a change"]
        and not any(aliases[name] in under["Committed"] for name in ("bo", "cy"))
    )


async def test_answers_are_the_same_everywhere_and_a_proposal_can_be_taken_up(stack: Stack, tmp_path: Path) -> None:
    process, aliases = await room(stack)
    await spoken_to_the_plan(stack, process, aliases)
    for name, decision in (("ada", "commit"), ("cy", "decline")):
        assert (await tongyao("answer", process, decision, "--as", name)).exit_code == 0
    last = await tongyao("answer", process, "propose", "--as", "bo", "--text", PROPOSAL)
    assert last.exit_code == 0, last.output
    expected = {aliases["ada"]: "commit", aliases["bo"]: "propose", aliases["cy"]: "decline"}

    async def waits_for_the_demander() -> bool:
        asks = await stack.repositories.inbox.of_process(process, open_only=True)
        return any((ask.alias, ask.ask) == ("P00", "replan") for ask in asks)

    await until(waits_for_the_demander)
    shown = json.loads((await tongyao("show", process, "--json")).stdout)
    [listed] = json.loads((await tongyao("list", "--json")).stdout)
    assert shown["answers"] == listed["answers"] == expected
    assert shown["answer_words"] == {aliases["bo"]: PROPOSAL}
    again = f"tongyao replan {process} --proposal {aliases['bo']} --without {aliases['cy']}"
    assert set(again.split()) in [set(command.split()) for command in shown["commands"]]
    assert lists_all(agreed_in(shown["plan"]["markdown"]), aliases)
    printed = (await tongyao("show", process)).stdout
    assert lists_all(agreed_in(printed), aliases)
    rounds = [line for line in printed.splitlines() if re.match(r"\s*R\d", line)]
    assert rounds and not any("…" in line for line in rounds), "no turn of a closed round is open"
    gateway = GatewayHarness(stack, stack.context, application(stack.context), ScriptedEngine(Script()))
    demander = await gateway.person((await stack.repositories.processes.get(process)).demander)
    over_api = (await gateway.ask("GET", f"/processes/{process}/plan", demander)).json()
    assert lists_all(agreed_in(over_api["markdown"]), aliases)
    async with Client(make_server(stack.context, token=demander)) as client:
        over_mcp = said_by(await client.call_tool("plan", {"process_id": process}))
    assert lists_all(agreed_in(over_mcp["plan"]["markdown"]), aliases)
    folder = tmp_path / "export"
    assert (await tongyao("export", process, "--to", str(folder))).exit_code == 0
    exported = json.loads((folder / "answers.json").read_text())
    assert {alias: one["answer"] for alias, one in exported.items()} == expected
    assert exported[aliases["bo"]]["words"] == PROPOSAL
    assert lists_all(agreed_in((folder / "plan.md").read_text()), aliases)
    report = (folder / "report.html").read_text()
    assert PROPOSAL in report and all(word in report for word in ("Committed", "Declined", "Proposed a change"))
    taken_up = await tongyao("replan", process, "--proposal", "bo", "--without", "cy")
    assert taken_up.exit_code == 0, taken_up.output

    async def planned_again() -> bool:
        latest = await stack.repositories.plans.latest(process)
        return latest is not None and latest.revision == 2

    await until(planned_again)
    await stack.until(process, "answering")
    renewed = json.loads((await tongyao("show", process, "--json")).stdout)
    [listed] = json.loads((await tongyao("list", "--json")).stdout)
    assert renewed["answers"] == listed["answers"] == {}, "answers to the plan before do not hold for this one"
    assert renewed["asked"] == sorted({aliases["ada"], aliases["bo"]}), "who is left out is not asked again"
    before, _, unanswered = agreed_in(renewed["plan"]["markdown"]).partition("### No answer")
    assert "P0" not in before and all(aliases[name] in unanswered for name in ("ada", "bo"))
    earlier = {one["alias"]: (one["revision"], one["decision"], one["words"]) for one in renewed["earlier_answers"]}
    written = {name: PROPOSAL if name == "bo" else "" for name in aliases}
    assert earlier == {aliases[name]: (1, expected[aliases[name]], written[name]) for name in aliases}
    assert PROPOSAL in (await tongyao("show", process)).stdout.split("Answers to plan 1")[1].replace("\n", " ")
    over_api = (await gateway.ask("GET", f"/processes/{process}/plan", demander)).json()
    assert lists_before(over_api["markdown"], aliases)
    kept = await tongyao("feedback", process, "--text", f"I met {aliases['ada']} on the quay.")
    assert kept.exit_code == 0, kept.output
    second = tmp_path / "second"
    assert (await tongyao("export", process, "--to", str(second))).exit_code == 0
    exported = json.loads((second / "answers-1.json").read_text())
    assert {alias: one["answer"] for alias, one in exported.items()} == expected
    assert exported[aliases["bo"]]["words"] == PROPOSAL
    assert lists_before((second / "plan.md").read_text(), aliases)
    assert PROPOSAL in (second / "report.html").read_text()
    [said] = json.loads((second / "feedback.json").read_text())
    assert said["words"] == f"I met {aliases['ada']} on the quay." and "text_id" not in said
    await tongyao("cancel", process)


async def test_a_person_whose_proxy_spoke_answers_by_command(stack: Stack) -> None:
    """`show` says that they may, and that nobody waits for them."""
    ada, bo, cy = await stack.people(TEXTS)
    kinds = {ada: EndpointKind.PROXY, bo: EndpointKind.HUMAN, cy: EndpointKind.PROXY}
    choices = [Choice(profile_id=id, endpoint=endpoint) for id, endpoint in kinds.items()]
    process = await stack.start(choices, auto_confirm=True)
    await stack.until_round(process, "crystallizing", 1)
    aliases = {seat.person: seat.alias for seat in await stack.repositories.seats.seats(process)}

    async def answering() -> bool:
        for ask in await stack.repositories.inbox.of_process(process, open_only=True):
            if (ask.ask, ask.alias) == ("projection", aliases[bo]):
                await stack.speak(process, aliases[bo], ask.round, "I teach." if ask.round == 1 else None)
        return (await stack.repositories.processes.get(process)).phase == "answering"

    await until(answering)
    shown = (await tongyao("show", process)).stdout
    assert f"waits for {aliases[bo]}: answer plan 1: commit, decline, or propose a change" in shown
    assert f"{aliases[ada]} may answer the plan, too. A proxy spoke for them" in " ".join(shown.split())
    assert (await tongyao("answer", process, "commit", "--as", "ada")).exit_code == 0
    again = (await tongyao("show", process)).stdout
    assert f"{aliases[ada]} may answer" not in again and f"{aliases[cy]} may answer" in again
    assert aliases[ada] in again.split("Committed")[1].split("No answer")[0]
    await tongyao("cancel", process)


async def test_during_the_rounds_the_tension_is_shown_too(stack: Stack) -> None:
    process, _ = await room(stack)
    tension = (await stack.repositories.record(process)).tension
    assert tension is not None
    shown = (await tongyao("show", process)).stdout
    for part, text in tension.targets().items():
        assert f"{part:<3}{shortened(text, 24)}" in shown
    await stack.say(process, "cancel")
