"""What `plan`, `feedback`, `tree` do: a plan as a document, what became of it, and what grew out of it (docs/plans.md)."""

from __future__ import annotations

from datetime import datetime

from rich.tree import Tree

from tongyao.app.feedback import Feedback, FeedbackBody, give_feedback
from tongyao.commands.shared.common import OPERATOR, app_context, records_context
from tongyao.commands.shared.references import alias_in
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, console, fail, print_json
from tongyao.commands.shared.words import say
from tongyao.protocol.documents.plan_machine import machine_of
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.rules.plans.validation import Fault, faults
from tongyao.records.process.lineage import ProcessTree
from tongyao.records.process.plans import Acceptance


async def against(process: str, document: object) -> list[Fault]:
    async with records_context() as context:
        record = await context.repositories.record(process)
        return faults(document, known=record.item_ids(), contributors=record.with_parts())


async def machine(process: str, revision: int | None) -> object:
    async with records_context() as context:
        record = await context.repositories.record(process)
        chosen = _revision(record.plans, process, revision)
        return machine_of(chosen, process).model_dump(mode="json")


async def acceptance(process: str | None, scene: str | None, since: datetime | None) -> Acceptance:
    async with records_context() as context:
        if process is not None:
            await context.repositories.processes.get(process)  # raises for an unknown id
        return await context.repositories.plans.acceptance(process_id=process, scene=scene, since=since)


def _revision(plans: tuple[Plan, ...], process: str, revision: int | None) -> Plan:
    wanted = [one for one in plans if revision in (None, one.revision)]
    if not wanted:
        key = "sent.no_plan" if revision is None else "sent.no_such_plan"
        fail(say(key, process=process, revision=revision), EXIT_BAD_INPUT)
    return wanted[-1]


async def alias_of(process: str, who: str) -> str:
    async with records_context() as context:
        return await alias_in(context, await context.repositories.processes.get(process), who)


async def feedback(process: str, body: FeedbackBody) -> Feedback:
    async with app_context() as context:
        return await give_feedback(context, OPERATOR, process, body)


async def tree(process: str, as_json: bool) -> None:
    async with records_context() as context:
        top = await context.repositories.lineage.tree((await context.repositories.processes.get(process)).root_id)
        if as_json:
            print_json(_branch(top))
            return
        shown = Tree(_label(top, process))
        _grow(shown, top, process)
        console.print(shown)
        cost = sum((row.cost for row in top.all()), start=type(top.process.cost)(0))
        tokens = f"{sum(row.tokens for row in top.all()):,}"
        console.print(say("sent.tree_total", n=len(top.all()), tokens=tokens, cost=f"{cost:.4f}"))


def _grow(shown: Tree, branch: ProcessTree, chosen: str) -> None:
    for child in branch.children:
        _grow(shown.add(_label(child, chosen)), child, chosen)


def _label(branch: ProcessTree, chosen: str) -> str:
    row = branch.process
    name = f"[bold reverse]{row.id}[/]" if row.id == chosen else f"[bold]{row.id}[/]"
    counts = {"round": row.round, "people": row.participants, "cost": f"{row.cost:.4f}"}
    return say("sent.tree_line", id=name, phase=say(f"phase.{row.phase}"), **counts)


def _branch(branch: ProcessTree) -> dict[str, object]:
    row = branch.process
    return {
        "id": row.id, "phase": row.phase, "depth": row.depth, "round": row.round, "participants": row.participants,
        "tokens": row.tokens, "cost": str(row.cost), "outcome": row.outcome,
        "children": [_branch(child) for child in branch.children],
    }  # fmt: skip
