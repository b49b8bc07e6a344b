"""`plan`, `feedback`, `tree`: a plan as a document, what became of it, and what grew out of it (docs/plans.md)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands.options import Process, Who
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, console, fail, print_json, run
from tongyao.commands.words import say

plan = typer.Typer(
    no_args_is_help=True, help="Plans as documents: schema, validation, workflow draft, acceptance rate."
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(plan, name="plan")
    app.command()(feedback)
    app.command()(tree)


@plan.command()
def schema(
    machine: Annotated[bool, typer.Option("--machine", help="The schema of the workflow draft.")] = False,
) -> None:
    """Print the JSON Schema of a plan."""
    from tongyao.protocol.documents.plan_machine import machine_schema
    from tongyao.protocol.rules.plans.validation import plan_schema

    print_json(machine_schema() if machine else plan_schema())


@plan.command()
def validate(
    file: Annotated[Path, typer.Argument(help="A plan as JSON.")],
    process: Annotated[str | None, typer.Option(help="Also check the plan against the record of this process.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the faults as a JSON list.")] = False,
) -> None:
    """Say whether a plan stands. Exit codes: 0 it does, 1 it does not, 2 the file cannot be read as JSON."""
    from tongyao.commands.actions import plans as actions
    from tongyao.protocol.rules.plans.validation import faults

    try:
        document = json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        fail(say("file.unreadable", file=file, error=error.strerror), EXIT_BAD_INPUT)
    except UnicodeDecodeError:
        fail(say("file.no_utf8", file=file), EXIT_BAD_INPUT)
    except RecursionError:
        fail(say("file.too_deep", file=file), EXIT_BAD_INPUT)
    except ValueError as error:
        fail(say("file.no_json", file=file, error=error), EXIT_BAD_INPUT)
    found = run(actions.against(process, document)) if process else faults(document)
    if as_json:
        print_json([fault.model_dump() for fault in found])
    else:
        for fault in found:
            console.print(f"[bold]{fault.where}[/bold]: ", end="")
            console.print(fault.what, markup=False, highlight=False)
        if not found:
            console.print(say("sent.plan_stands"))
    if found:
        raise typer.Exit(EXIT_FAILED)


@plan.command()
def machine(
    process: Process,
    revision: Annotated[int | None, typer.Option(help="Revision of the plan. Default: the latest.")] = None,
) -> None:
    """Print a plan as a neutral workflow machine (JSON). It is a draft: nothing is run, no chain is contacted."""
    from tongyao.commands.actions import plans as actions

    print_json(run(actions.machine(process, revision)))


@plan.command()
def acceptance(
    process: Annotated[str | None, typer.Argument(help="Id of one process; all by default.")] = None,
    scene: Annotated[str | None, typer.Option(help="Only processes of this scene.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only plans made on this day (UTC) or later.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Say how plans were answered: of each, the revision that holds. The rate is of those who answered."""
    from tongyao.commands.actions import plans as actions

    found = run(actions.acceptance(process, scene, since.replace(tzinfo=UTC) if since else None))
    if as_json:
        print_json({**found.model_dump(), "rate": found.rate})
        return
    rate = say("sent.no_answers_yet") if found.rate is None else say("sent.rate", rate=f"{found.rate:.0%}")
    counts = {"asked": found.asked, "commit": found.commit, "decline": found.decline, "propose": found.propose}
    console.print(say("sent.rate_line", rate=rate, **counts), highlight=False)


def feedback(
    process: Process,
    who: Who = "P00",
    usefulness: Annotated[
        int | None, typer.Option(min=1, max=5, help="From 1 (of no use) to 5 (it changed much).")
    ] = None,
    outcome: Annotated[str | None, typer.Option(help="done, partly, not_done or too_early")] = None,
    text: Annotated[str, typer.Option(help="What became of the plan, in your own words.")] = "",
    revision: Annotated[int | None, typer.Option(help="Revision of the plan. Default: the latest.")] = None,
    to_profile: Annotated[
        bool, typer.Option("--to-profile", help="Also add the text to the author's profile, as a new version.")
    ] = False,
) -> None:
    """Give feedback on a plan, also long after its process has ended. Changes the profile only with --to-profile."""
    from tongyao.app.feedback import FeedbackBody
    from tongyao.commands.actions import plans as actions
    from tongyao.commands.context import validated

    given = {
        "alias": run(actions.alias_of(process, who)), "usefulness": usefulness, "outcome": outcome, "text": text, "revision": revision,
        "to_profile": to_profile,
    }  # fmt: skip
    kept = run(actions.feedback(process, validated(FeedbackBody, given)))
    said = say("sent.kept_feedback", revision=kept.revision, process=process)
    if kept.profile:
        said += say("sent.kept_in_profile", person=kept.profile[0], version=kept.profile[1])
    console.print(said, highlight=False)


def tree(
    process: Process,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Show a process with its parents and children, and the budget of the tree."""
    from tongyao.commands.actions import plans as actions

    run(actions.tree(process, as_json))
