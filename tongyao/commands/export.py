"""`export`: writes one process as a folder of files for people and programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tongyao.commands.context import open_records
from tongyao.commands.options import Process
from tongyao.commands.terminal import CommandGroup
from tongyao.commands.words import tell

if TYPE_CHECKING:
    from tongyao.protocol.model.plan import Plan
    from tongyao.protocol.model.record import Record
    from tongyao.records.repositories import Repositories

app = CommandGroup()


@app.command()
async def export(
    process: Process,
    to: Annotated[
        Path | None, typer.Option(help="The folder to write (with --html the file). Default: the id.")
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="Write only the report: one page that loads nothing from the network.")
    ] = False,
) -> None:
    """Write tension, projections, observations, relations, plan, deliveries, answers, audit and a report of all, under aliases."""
    place = to or Path(f"{process}.html" if html else process)
    async with open_records() as repositories:
        if html:
            report = await report_of(repositories, process)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(report, encoding="utf-8")
        else:
            await write_export(repositories, process, place)
    page = place if html else place / "report.html"
    tell("sent.exported", whole=True, place=place, page=page)


async def report_of(repositories: Repositories, process: str) -> str:
    """Return `report.html`: the whole process in one file, with aliases, in the language of the process."""
    from tongyao.commands.process_view import audited
    from tongyao.gateway.console.report import report_html
    from tongyao.protocol.model.requests import known_language
    from tongyao.protocol.rules import read_access

    row = await repositories.processes.get(process)
    return report_html(
        read_access.for_export(await repositories.record(row)),
        language=known_language(row.language),
        max_rounds=row.max_rounds,
        findings=await audited(repositories, process),
    )


async def write_export(repositories: Repositories, process: str, folder: Path) -> None:
    """Write the files of a process, and overwrite existing files. People appear only under their aliases."""
    from tongyao.app.choosing.choices import nothing_found
    from tongyao.app.pictures.files import pictures
    from tongyao.commands.process_view import audited
    from tongyao.protocol.documents.markdown import observation_markdown, projection_markdown, tension_markdown
    from tongyao.protocol.documents.plan_machine import machine_of
    from tongyao.protocol.rules import read_access

    record = await repositories.record(process)
    folder.mkdir(parents=True, exist_ok=True)

    def write(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")

    def dump(name: str, value: Any) -> None:
        write(name, json.dumps(value, ensure_ascii=False, indent=2))

    if record.tension is not None:
        write("tension.md", tension_markdown(record.tension, record.language))
        dump("tension.json", record.tension.model_dump(mode="json"))
    for projection in record.projections:
        write(
            f"rounds/R{projection.round}-{projection.alias}.md",
            projection_markdown(projection, record.language),
        )
    for seen in record.observations:
        write(f"rounds/R{seen.round}-catalyst.md", observation_markdown(seen, record.language))
    shown = read_access.for_export(record)
    if shown.stands is not None:
        dump("stands.json", shown.stands.model_dump(mode="json"))
    _plans(record, shown.plan, write, dump)
    aliases = [row.alias for row in record.participants]
    latest = record.plans[-1] if record.plans else None
    for name, picture in pictures(aliases, shown.stands, latest, language=record.language).items():
        write(f"pictures/{name}", picture)
    if latest is not None:
        dump("machine.json", machine_of(latest, process).model_dump(mode="json"))
        dump(
            "feedback.json",
            [
                {
                    **row.model_dump(mode="json", exclude={"text_id"}),
                    "words": await repositories.feedback.words(process, row.alias, row.revision, shared=True),
                }
                for row in await repositories.feedback.of_process(process)
            ],
        )
    for delivery in record.deliveries:
        write(
            f"deliveries/{delivery.plan_revision}-{delivery.alias}.md",
            delivery.markdown,
        )
    if record.answers:
        dump("answers.json", _answers(record))
    for revision in sorted({row.revision for row in record.earlier_answers}):
        dump(
            f"answers-{revision}.json",
            {
                row.alias: {"answer": row.decision, "words": row.words}
                for row in shown.earlier_answers or ()
                if row.revision == revision
            },
        )
    if said := await nothing_found(repositories, await repositories.processes.get(process)):
        write("nothing-found.md", said)
    write("report.html", await report_of(repositories, process))
    dump("audit.json", [finding.model_dump(mode="json") for finding in await audited(repositories, process)])


def _answers(record: Record) -> dict[str, dict[str, str]]:
    """Return the answer to the current plan and its words, by alias."""
    words = record.answer_words
    return {alias: {"answer": answer, "words": words.get(alias, "")} for alias, answer in record.answers.items()}


def _plans(record: Record, latest: Plan | None, write: Any, dump: Any) -> None:
    """Write the current plan `latest`, and the earlier plans with their revisions in the file names."""
    earlier = {f"-{plan.revision}": plan for plan in record.plans[:-1]}
    for suffix, plan in {**earlier, **({"": latest} if latest is not None else {})}.items():
        write(f"plan{suffix}.md", plan.markdown)
        dump(f"plan{suffix}.json", plan.model_dump(mode="json", exclude={"markdown"}))
