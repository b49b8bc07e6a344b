"""`plan`, `feedback`, `tree`: a plan as a document, what became of it, and what grew out of it (docs/plans.md)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.tree import Tree

from tongyao.app.feedback import Feedback, FeedbackBody, give_feedback
from tongyao.commands.shared.common import app_context, validated
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_FAILED, console, fail, print_json, run
from tongyao.commands.shared.options import Process
from tongyao.protocol.documents.plan_machine import machine_of, machine_schema
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.plans.validation import Fault, faults, plan_schema
from tongyao.records.process.lineage import ProcessTree
from tongyao.records.process.plans import Acceptance

plan = typer.Typer(no_args_is_help=True, help="A plan as a document: its schema, whether it stands, its machine.")


def add_to(app: typer.Typer) -> None:
    app.add_typer(plan, name="plan")
    app.command()(feedback)
    app.command()(tree)


@plan.command()
def schema(
    machine: Annotated[bool, typer.Option("--machine", help="Of a machine draft instead.")] = False,
) -> None:
    """Print the JSON Schema of a plan."""
    print_json(machine_schema() if machine else plan_schema())


@plan.command()
def validate(
    file: Annotated[Path, typer.Argument(help="A plan as JSON.")],
    process: Annotated[str | None, typer.Option(help="Hold it against the record of this process as well.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list of what is wrong.")] = False,
) -> None:
    """Say whether a plan stands. Exit codes: 0 it does, 1 it does not, 2 the file cannot be read as JSON."""
    try:
        document = json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", EXIT_BAD_INPUT)
    except UnicodeDecodeError:
        fail(f"{file} is not UTF-8: save it as UTF-8", EXIT_BAD_INPUT)
    except ValueError as error:
        fail(f"{file} is not JSON: {error}", EXIT_BAD_INPUT)
    found = run(_against(process, document)) if process else faults(document)
    if as_json:
        print_json([fault.model_dump() for fault in found])
    else:
        for fault in found:
            console.print(f"[bold]{fault.where}[/bold]: ", end="")
            console.print(fault.what, markup=False, highlight=False)
        if not found:
            console.print("this plan stands")
    if found:
        raise typer.Exit(EXIT_FAILED)


async def _against(process: str, document: object) -> list[Fault]:
    async with app_context() as context:
        record = await context.repositories.record(process)
        return faults(document, known=record.item_ids(), contributors=record.contributors())


@plan.command()
def machine(
    process: Process,
    revision: Annotated[int | None, typer.Option(help="Of the plan; the latest by default.")] = None,
) -> None:
    """Print a plan as a neutral workflow machine (JSON). It is a draft: nothing is run, no chain is contacted."""
    print_json(run(_machine(process, revision)))


async def _machine(process: str, revision: int | None) -> object:
    async with app_context() as context:
        record = await context.repositories.record(process)
        chosen = _revision(record.plans, process, revision)
        return machine_of(read_access.anonymizer(record).model(chosen), process).model_dump(mode="json")


@plan.command()
def acceptance(
    process: Annotated[str | None, typer.Argument(help="Id of one process; all by default.")] = None,
    scene: Annotated[str | None, typer.Option(help="Of this scene only.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Plans made since then (UTC).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Say how plans were answered: of each, the revision that holds. The rate is of those who answered."""
    found = run(_acceptance(process, scene, since.replace(tzinfo=UTC) if since else None))
    if as_json:
        print_json({**found.model_dump(), "rate": found.rate})
        return
    rate = "nobody has answered yet" if found.rate is None else f"{found.rate:.0%} of those who answered commit"
    console.print(
        f"{rate}: deliveries {found.asked}, commit {found.commit}, decline {found.decline}, propose {found.propose}",
        highlight=False,
    )


async def _acceptance(process: str | None, scene: str | None, since: datetime | None) -> Acceptance:
    async with app_context() as context:
        if process is not None:
            await context.repositories.processes.get(process)  # raises for an unknown id
        return await context.repositories.plans.acceptance(process_id=process, scene=scene, since=since)


def _revision(plans: tuple[Plan, ...], process: str, revision: int | None) -> Plan:
    wanted = [one for one in plans if revision in (None, one.revision)]
    if not wanted:
        fail(f"{process} has no plan{'' if revision is None else f' {revision}'} (yet)", EXIT_BAD_INPUT)
    return wanted[-1]


def feedback(
    process: Process,
    alias: Annotated[str, typer.Option("--as", help="Who says it: P01, P02, …, or P00 for the demander.")] = DEMANDER,
    usefulness: Annotated[int | None, typer.Option(min=1, max=5, help="1: of no use, 5: it changed much.")] = None,
    outcome: Annotated[str | None, typer.Option(help="done, partly, not_done or too_early")] = None,
    text: Annotated[str, typer.Option(help="What came of it, in your own words.")] = "",
    revision: Annotated[int | None, typer.Option(help="Of the plan; the latest by default.")] = None,
    to_profile: Annotated[
        bool, typer.Option("--to-profile", help="Also add your words to your own profile, as a new version.")
    ] = False,
) -> None:
    """Say what became of a plan, now or long after its process has ended. Your profile changes only with --to-profile."""
    given = {
        "alias": alias, "usefulness": usefulness, "outcome": outcome, "text": text, "revision": revision,
        "to_profile": to_profile,
    }  # fmt: skip
    kept = run(_feedback(process, validated(FeedbackBody, given)))
    added = f"; version {kept.profile[1]} of {kept.profile[0]} has it as well" if kept.profile else ""
    console.print(f"kept beside plan {kept.revision} of {process}{added}", highlight=False)


async def _feedback(process: str, body: FeedbackBody) -> Feedback:
    async with app_context() as context:
        return await give_feedback(context, process, body)


def tree(
    process: Process,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show everything that grew out of the same intent: parents above, children below, and the tree's budget."""
    run(_tree(process, as_json))


async def _tree(process: str, as_json: bool) -> None:
    async with app_context() as context:
        top = await context.repositories.lineage.tree((await context.repositories.processes.get(process)).root_id)
        if as_json:
            print_json(_branch(top))
            return
        shown = Tree(_label(top, process))
        _grow(shown, top, process)
        console.print(shown)
        cost = sum((row.cost for row in top.all()), start=type(top.process.cost)(0))
        console.print(f"{len(top.all())} processes, {sum(row.tokens for row in top.all()):,} tokens, ${cost:.4f}")


def _grow(shown: Tree, branch: ProcessTree, chosen: str) -> None:
    for child in branch.children:
        _grow(shown.add(_label(child, chosen)), child, chosen)


def _label(branch: ProcessTree, chosen: str) -> str:
    row = branch.process
    name = f"[bold reverse]{row.id}[/]" if row.id == chosen else f"[bold]{row.id}[/]"
    return f"{name}  {row.phase}, round {row.round}, {row.participants} people, ${row.cost:.4f}"


def _branch(branch: ProcessTree) -> dict[str, object]:
    row = branch.process
    return {
        "id": row.id, "phase": row.phase, "depth": row.depth, "round": row.round, "participants": row.participants,
        "tokens": row.tokens, "cost": str(row.cost), "outcome": row.outcome,
        "children": [_branch(child) for child in branch.children],
    }  # fmt: skip
