"""`plan`, `feedback`, `tree`: plans as documents, feedback on plans, and child processes (docs/plans.md)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tongyao.commands.context import app_context, open_records, operator, validated
from tongyao.commands.options import AsJson, Process, ProcessIfAny, Who
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, console, fail, print_json
from tongyao.commands.words import dollars, say, tell

if TYPE_CHECKING:
    from rich.tree import Tree

    from tongyao.protocol.model.plan import Plan
    from tongyao.records.process.lineage import ProcessTree

app = CommandGroup()
plan = CommandGroup(no_args_is_help=True, help="Plans as documents: schema, workflow draft, acceptance rate.")
app.add_typer(plan, name="plan")


@plan.command()
def schema(
    machine: Annotated[bool, typer.Option("--machine", help="The schema of the workflow draft.")] = False,
) -> None:
    """Print the JSON Schema of a plan."""
    from tongyao.protocol.documents.plan_machine import machine_schema
    from tongyao.protocol.model.plan import plan_schema

    print_json(machine_schema() if machine else plan_schema())


@plan.command()
async def machine(
    process: Process,
    revision: Annotated[int | None, typer.Option(help="Revision of the plan. Default: the latest.")] = None,
) -> None:
    """Print a plan as a neutral workflow machine (JSON). It is a draft: nothing is run, no chain is contacted."""
    from tongyao.protocol.documents.plan_machine import machine_of

    async with open_records() as repositories:
        record = await repositories.record(process)
    chosen = _revision(record.plans, process, revision)
    print_json(machine_of(chosen, process).model_dump(mode="json"))


@plan.command()
async def acceptance(
    process: ProcessIfAny = None,
    scene: Annotated[str | None, typer.Option(help="Only processes of this scene.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only plans made on this day (UTC) or later.")] = None,
    as_json: AsJson = False,
) -> None:
    """Report how plans were answered, counting only the valid revision of each plan. The rate is the share of commits among the answers."""
    after = since.replace(tzinfo=UTC) if since else None
    async with open_records() as repositories:
        if process:
            await repositories.processes.get(process)  # raises for an unknown id
        found = await repositories.plans.acceptance(process_id=process, scene=scene, since=after)
    if as_json:
        print_json({**found.model_dump(), "rate": found.rate})
        return
    rate = say("sent.no_answers_yet") if found.rate is None else say("sent.rate", rate=f"{found.rate:.0%}")
    answers = found.model_dump(include={"asked", "commit", "decline", "propose"})
    tell("sent.rate_line", rate=rate, **answers)


@app.command()
async def feedback(
    process: Process,
    who: Who = "P00",
    usefulness: Annotated[
        int | None, typer.Option(min=1, max=5, help="From 1 (of no use) to 5 (it changed much).")
    ] = None,
    outcome: Annotated[str | None, typer.Option(help="done, partly, not_done or too_early")] = None,
    text: Annotated[str, typer.Option(help="The outcome of the plan, in your own words.")] = "",
    revision: Annotated[int | None, typer.Option(help="Revision of the plan. Default: the latest.")] = None,
    to_profile: Annotated[
        bool, typer.Option("--to-profile", help="Also add the text to the author's profile, as a new version.")
    ] = False,
) -> None:
    """Give feedback on a plan, also long after its process has ended. Changes the profile only with --to-profile."""
    from tongyao.app.feedback import FeedbackBody, give_feedback
    from tongyao.commands.references import alias_in

    async with app_context() as context:
        alias = await alias_in(context.repositories, await context.repositories.processes.get(process), who)
        given = {"alias": alias, "usefulness": usefulness, "outcome": outcome, "text": text, "revision": revision,
                 "to_profile": to_profile}  # fmt: skip
        kept = await give_feedback(context, operator(), process, validated(FeedbackBody, given))
    said = say("sent.kept_feedback", revision=kept.revision, process=process)
    if kept.profile:
        said += say("sent.kept_in_profile", person=kept.profile[0], version=kept.profile[1])
    console.print(said, highlight=False)


@app.command()
async def tree(
    process: Process,
    as_json: AsJson = False,
) -> None:
    """Show a process with its parents and children, and the budget of the tree."""
    async with open_records() as repositories:
        top = await repositories.lineage.tree((await repositories.processes.get(process)).root_id)
        if as_json:
            print_json(_branch(top))
            return
        from rich.tree import Tree

        shown = Tree(_label(top, process))
        _grow(shown, top, process)
        console.print(shown)
        cost = sum((row.cost for row in top.all()), start=type(top.process.cost)(0))
        unknown = any(row.price_unknown for row in top.all())
        tokens = f"{sum(row.tokens for row in top.all()):,}"
        tell("sent.tree_total", n=len(top.all()), tokens=tokens, cost=dollars(cost, unknown=unknown))


def _revision(plans: tuple[Plan, ...], process: str, revision: int | None) -> Plan:
    wanted = [made for made in plans if revision in (None, made.revision)]
    if not wanted:
        key = "sent.no_plan" if revision is None else "sent.no_such_plan"
        fail(say(key, process=process, revision=revision), EXIT_BAD_INPUT)
    return wanted[-1]


def _grow(shown: Tree, branch: ProcessTree, chosen: str) -> None:
    for child in branch.children:
        _grow(shown.add(_label(child, chosen)), child, chosen)


def _label(branch: ProcessTree, chosen: str) -> str:
    row = branch.process
    name = f"[bold reverse]{row.id}[/]" if row.id == chosen else f"[bold]{row.id}[/]"
    counts = {"round": row.round, "people": row.participants, "cost": dollars(row.cost, unknown=row.price_unknown)}
    return say("sent.tree_line", id=name, phase=say(f"phase.{row.phase}"), **counts)


def _branch(branch: ProcessTree) -> dict[str, object]:
    row = branch.process
    return {
        "id": row.id, "phase": row.phase, "depth": row.depth, "round": row.round, "participants": row.participants,
        "tokens": row.tokens, "cost": str(row.cost), "outcome": row.outcome,
        "children": [_branch(child) for child in branch.children],
    }  # fmt: skip
