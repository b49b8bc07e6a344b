"""The asks of a process in words, and the complete commands that answer them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from tongyao.app.choosing.candidates import FoundCandidate
from tongyao.app.choosing.choices import choices_of
from tongyao.app.choosing.open_residuals import open_residuals
from tongyao.app.messaging.inbox import answers_of
from tongyao.commands.words import language, say
from tongyao.protocol.life.asks import Body, does, whom
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.standing import rounds_of, standing
from tongyao.records.process.inbox import InboxRow
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.repositories import Repositories

_NAME: Final = "NAME"
_PROFILE: Final = "PROFILE_ID"


def with_places(command: str) -> str:
    """Return a command with its placeholders in the language of the terminal. `--json` prints them in English."""
    return command.replace(f" {_NAME}", f" {say('waits.name')}").replace(f" {_PROFILE}", f" {say('waits.profile')}")


def waits_for(ask: InboxRow, row: ProcessRow) -> str:
    """Return one line with the person for whom the process waits, the reason, and the deadline."""
    who = say("waits.demander") if ask.alias == DEMANDER else whom(ask.ask, ask.alias, language())
    reason = f" ({row.suspended_reason})" if ask.ask == "resume" else ""
    line = say("waits.question" if ask.ask == "gap" else "waits.line", who=who, what=does(ask, language()) + reason)
    if ask.due_at is None:
        return line
    until = "waits.until_confirms" if ask.ask == "confirm_tension" else "waits.until"
    return line + say(until, at=f"{ask.due_at:%Y-%m-%d %H:%M}")


async def questions_in(repositories: Repositories, ask: InboxRow, row: ProcessRow) -> list[str]:
    """Return the texts of the open gaps that ask the person of this ask."""
    if ask.ask not in ("gap", "projection") or ask.round < 2:
        return []
    record = await repositories.record(row, own=(ask.alias,))
    held = standing(rounds_of(record.projections, record.observations))
    return [gap.text for gap in held.open_gaps if gap.asks == ask.alias and held.asked[gap.id].outcome == "open"]


async def commands_for(repositories: Repositories, ask: InboxRow) -> list[str]:
    """Return complete commands that answer an ask. If there is a choice, the usual choice comes first."""
    choices = await choices_of(repositories, ask)
    commands = []
    for message in await answers_of(repositories, ask, choices.options if choices else ()):
        # A person without a part in the plan who declines leaves no hole, so no process can be started for it.
        nothing = message.get("approve") and ask.ask == "hole" and choices is not None and choices.residual is None
        if not nothing:
            commands.append(_command(ask, message, _people(message, choices.proposals if choices else ())))
    if ask.ask == "consent":  # without a choice the command shows the question
        commands.insert(0, f"tongyao consent {ask.process_id} --as {ask.person or ask.subject}")
    if ask.ask == "calls":  # no message answers it
        commands += ["tongyao calls next", f"tongyao calls connect {_NAME}"]
    return commands


def _command(ask: InboxRow, message: Body, people: Sequence[str]) -> str:
    """Return the command that sends a message. `people`: the profile ids to name in it."""
    id, text = ask.process_id, ' --text "…"' if message.get("text") else ""
    named = "".join(f" --participant {person}" for person in people)
    match message["kind"]:
        case "confirm_tension" | "conclude" | "resume":
            return f"tongyao {message['kind'].removesuffix('_tension')} {id}"
        case "revise_tension":
            return f"tongyao revise {id} --edit"
        case "select_participants":
            return f"tongyao select {id}{named}"
        case "submit_projection":
            said = text or " --nothing-new"
            return f"tongyao say {id} --as {ask.alias} --round {message['round']}{said}"
        case "answer_plan":
            said = text if message["answer"] == "propose" else ""
            return f"tongyao answer {id} {message['answer']} --as {ask.alias} --revision {message['revision']}{said}"
        case "decide":
            limit = f" --tokens {message['tokens']}" if message["decision"] == "raise_budget" else ""
            return f"tongyao decide {id} {message['decision']}{named}{limit}"
        case "replan":
            without = "".join(f" --without {alias}" for alias in message["without"])
            return f"tongyao replan {id}{without}{''.join(f' --proposal {alias}' for alias in message['proposals'])}"
        case "approve_residual":
            asked = f" --ask {message['ask']}" if message.get("ask") else ""
            return f"tongyao branch {id} {shlex.quote(ask.subject)}{asked}{'' if message['approve'] else ' --no'}"
        case "consent":
            speaks = f" --endpoint {message['endpoint']}" if "endpoint" in message else ""
            said = f" --allow{speaks}" if message["allow"] else " --refuse"
            return f"tongyao consent {id} --as {ask.person or ask.subject}{said}"
    raise AssertionError(f"no command sends {message['kind']}")


def _people(message: Body, proposals: Sequence[FoundCandidate]) -> Sequence[str]:
    """Return the people that a message should name: those who are preselected, or whom the field proposes to add."""
    if message["kind"] == "select_participants":
        return [one.profile_id for one in proposals if one.taken] or [_PROFILE, _PROFILE]
    if message.get("decision") == "add_participants":
        return [one.profile_id for one in proposals] or [_PROFILE]
    return ()


async def after_end(repositories: Repositories, row: ProcessRow) -> list[tuple[str, str]]:
    """Return the unresolved tensions of an ended process: id with title, and the command to start a process for it."""
    return [
        (f"{residual.id}: {residual.title}", f"tongyao branch {row.id} {shlex.quote(residual.id)}")
        for residual in await open_residuals(repositories, row)
    ]


async def next_step(repositories: Repositories, process_id: str, *, alias: str = "") -> str:
    """Return one line with the phase, the open ask and its command, to print after a command that changed something.

    `alias`: of the participant who gave the command. The line contains no commands for other people.
    """
    row = await repositories.processes.get(process_id)
    asks = await repositories.inbox.of_process(process_id, open_only=True)
    others = [ask for ask in asks if alias not in ("", ask.alias)]
    asks = sorted((ask for ask in asks if ask not in others), key=lambda ask: ask.ask != "replan")
    in_round = row.phase == Phase.CRYSTALLIZING
    stands = say("waits.now_round" if in_round else "waits.now", phase=say(f"phase.{row.phase}"), round=row.round)
    if others and not asks:
        waited = dict.fromkeys(waits_for(ask, row) for ask in others)
        return f"{stands}{say('waits.then')}{say('waits.then').join(waited)}{say('waits.next', command=f'tongyao watch {process_id}')}"
    if Phase(row.phase).ended or not asks:
        looked = "show" if Phase(row.phase).ended else "watch"
        return stands + say("waits.next", command=f"tongyao {looked} {process_id}")
    more = len(asks) - 1
    also = say("waits.and_more", n=more, command=f"tongyao show {process_id}") if more else ""
    [first, *_] = await commands_for(repositories, asks[0]) or [f"tongyao show {process_id}"]
    first = with_places(first)
    return f"{stands}{say('waits.then')}{waits_for(asks[0], row)}{also}{say('waits.next', command=first)}"
