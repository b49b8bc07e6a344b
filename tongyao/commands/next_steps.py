"""What a process waits for, in words, and the commands that would move it, filled in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tongyao.app.choosing.choices import choices_of
from tongyao.app.choosing.nearest_first import nearest_first
from tongyao.app.choosing.open_residuals import open_residuals
from tongyao.app.messaging.inbox import asks_gaps
from tongyao.commands.words import say
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.records.process.inbox import InboxRow
from tongyao.records.process.processes import ProcessRow
from tongyao.records.repositories import Repositories


def waits_for(ask: InboxRow, row: ProcessRow) -> str:
    """Who is waited for, why, and until when, in one line."""
    who = {DEMANDER: say("waits.demander"), "": say("waits.operator")}.get(ask.alias, ask.alias)
    key = "waits.answered" if _after_answers(ask, row) else "waits.gap" if asks_gaps(ask, row) else f"waits.{ask.ask}"
    said = say(key, round=ask.round, reason=row.suspended_reason)
    line = say("waits.line", who=who, what=said)
    if ask.due_at is None:
        return line
    until = "waits.until_confirms" if ask.ask == "confirm_tension" else "waits.until"
    return line + say(until, at=f"{ask.due_at:%Y-%m-%d %H:%M}")


async def commands_for(repositories: Repositories, ask: InboxRow, row: ProcessRow) -> list[str]:
    """The commands that answer an ask, as they can be pasted; where somebody chooses, the usual choice first."""
    id, who = row.id, ask.alias
    match ask.ask:
        case "confirm_tension":
            return [f"tongyao confirm {id}", f"tongyao revise {id} --edit"]
        case "select_participants":
            return [
                f"tongyao select {id}{''.join(f' --participant {one}' for one in await _nearest(repositories, id))}"
            ]
        case "projection":
            said = f"tongyao say {id} --as {who} --round {ask.round}"
            return [f'{said} --text "…"', f"{said} --nothing-new"]
        case "answer":
            of = f"--as {who} --revision {ask.round}"
            return [
                f"tongyao answer {id} commit {of}",
                f"tongyao answer {id} decline {of}",
                f'tongyao answer {id} propose {of} --text "…"',
            ]
        case "decision" if _after_answers(ask, row):
            return [*await _replan(repositories, id), f"tongyao conclude {id}"]
        case "decision":
            proposed = await repositories.seats.candidates(id, round_number=ask.round)
            people = "".join(f" --participant {one}" for one in dict.fromkeys(one.profile_id for one in proposed))
            add = f"tongyao decide {id} add_participants{people or ' --participant PROFILE_ID'}"
            choices = ("accept_as_is", "extend", "abandon")
            return [*(f"tongyao decide {id} {one}" for one in choices), add]
        case "residual" | "hole":
            subject = shlex.quote(ask.subject)
            again = await _replan(repositories, id) if ask.ask == "hole" else []
            offered = await choices_of(repositories, ask)
            # Who declines without a part in the plan leaves nothing that somebody else could take up.
            is_empty = ask.ask == "hole" and offered is not None and offered.residual is None
            start = [] if is_empty else [f"tongyao branch {id} {subject}"]
            return [*start, f"tongyao branch {id} {subject} --no", *again]
        case "consent":
            person = ask.person or ask.subject
            said = f"tongyao consent {id} --as {person}"
            return [said, f"{said} --allow", f"{said} --allow --endpoint human", f"{said} --refuse"]
        case "resume":
            return [f"tongyao resume {id}"]
        case _:
            return []


async def after_end(repositories: Repositories, row: ProcessRow) -> list[tuple[str, str]]:
    """Of each tension that stayed open in a process that has ended its id with its title, and the command that starts a process for it."""
    return [
        (f"{one.id}: {one.title}", f"tongyao branch {row.id} {shlex.quote(one.id)}")
        for one in await open_residuals(repositories, row)
    ]


async def next_step(repositories: Repositories, process_id: str, *, alias: str = "") -> str:
    """The phase, what is waited for, and a command, in one line: for the end of a command that changed something.

    `alias`: of the participant who gave the command. They are not shown a command of somebody else.
    """
    row = await repositories.processes.get(process_id)
    asks = await repositories.inbox.of_process(process_id, open_only=True)
    others = [ask for ask in asks if alias not in ("", ask.alias)]
    asks = sorted((ask for ask in asks if ask not in others), key=lambda ask: not _after_answers(ask, row))
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
    [first, *_] = await commands_for(repositories, asks[0], row) or [f"tongyao show {process_id}"]
    return f"{stands}{say('waits.then')}{waits_for(asks[0], row)}{also}{say('waits.next', command=first)}"


def _after_answers(ask: InboxRow, row: ProcessRow) -> bool:
    return ask.ask == "decision" and row.phase == Phase.ANSWERING


async def _nearest(repositories: Repositories, process_id: str) -> Sequence[str]:
    """Who would be taken if nobody chose."""
    return (await nearest_first(repositories, process_id))[:8] or ["PROFILE_ID", "PROFILE_ID"]


async def _replan(repositories: Repositories, process_id: str) -> list[str]:
    """A new plan without everybody who declined, with everything that was proposed for the plan that holds. The second plan cannot be made anew."""
    plan = await repositories.plans.latest(process_id)
    if plan is not None and plan.revision > 1:
        return []
    answers = await repositories.plans.answers(process_id)
    latest = max((one.revision for one in answers), default=0)
    options = {"decline": "--without", "propose": "--proposal"}
    said = [
        f" {options[one.decision]} {one.alias}"
        for one in answers
        if one.revision == latest and one.decision in options and one.alias != DEMANDER
    ]
    return [f"tongyao replan {process_id}{''.join(said)}"]
