"""`demo`: one of the examples on real servers, from a raw intent to a plan; with `--crash`, through a killed worker."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rich.cells import cell_len, set_cell_size
from rich.table import Table

from tongyao.commands.context import settings
from tongyao.commands.terminal import EXIT_FAILED, CommandGroup, console, fail
from tongyao.commands.words import language, say, say_in

if TYPE_CHECKING:
    from tongyao.protocol.model.requests import Language
    from tongyao.records.repositories import Repositories
    from tongyao.runtime.installation import Installation

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
CASES: Final = {"zh": "zh-medicine-mountain", "en": "en-winter-ferry"}
RECORDED: Final = {"zh": "held-out/a2-zh-four-dark-hours", "en": "held-out/b1-en-before-the-headgate"}
"""Cases of which `examples/recorded/<case>.jsonl` holds a run."""

app = CommandGroup()


@app.command()
async def demo(
    lang: Annotated[
        str, typer.Option(help="zh or en: which of the two example cases. Default: the language of the terminal.")
    ] = "",
    crash: Annotated[
        bool, typer.Option("--crash", help="Kill the worker in the middle of a round, and go on.")
    ] = False,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded",
            help="Play a run in Chinese whose answers were written by hand in place of a model (no key needed).",
        ),
    ] = False,
) -> None:
    """Run one example process on a real Temporal server and a real PostgreSQL. Prints its rounds live and a summary of the result."""
    lang = lang or language()
    if lang not in CASES:
        fail(say("demo.lang", given=repr(lang)), 2)
    if recorded and lang not in RECORDED:
        fail(say("demo.no_recording", languages=", ".join(RECORDED)), 2)
    folder = EXAMPLES / (RECORDED if recorded else CASES)[lang]
    if not folder.is_dir():
        fail(say("demo.no_examples", folder=folder), 2)
    recording = EXAMPLES / "recorded" / f"{folder.name}.jsonl" if recorded else None
    if recording is not None:  # the worker process reads its settings from the environment, too
        os.environ |= {"TONGYAO_ENGINE": "recorded", "TONGYAO_ENGINE_FILE": str(recording)}
    await _run(folder, "zh" if lang == "zh" else "en", crash, recording)


async def _run(folder: Path, lang: Language, crash: bool, recording: Path | None) -> None:
    from tongyao.app.choosing.findings import nothing_found
    from tongyao.commands.demo_screen import follow_rounds, screenful
    from tongyao.commands.export import write_export
    from tongyao.commands.process_view import audited
    from tongyao.commands.profile_files import start_from_files
    from tongyao.protocol.model.phase import Phase
    from tongyao.protocol.rules import read_access
    from tongyao.runtime import installation

    config = settings()
    console.print(f"[bold]{folder.name}[/bold]: {(folder / 'intent.txt').read_text(encoding='utf-8').strip()}\n")
    if config.chosen_engine == "extractive":
        console.print(say_in(lang, "demo.no_model") + "\n", style="dim")
    if recording is not None:
        console.print(say_in(lang, "demo.recording") + "\n", style="dim")
    async with installation.brought_up(config) as installed:
        if recording is not None and installed.joined:
            fail(say("demo.needs_worker"))
        context, repositories = installed.context, installed.context.repositories
        scene = f"demo-{lang}"  # its people stand in no scene of the user's
        await repositories.scenes.put(scene, scene)
        given = {
            "scene": scene,
            "intent": f"@{folder / 'intent.txt'}",
            "demander": str(folder / "demander.md"),
            "participants": [{"profile_id": str(path)} for path in _profiles(folder, recording)],
            "settings": {"auto_confirm": True, "aliases_as_named": recording is not None},
        }
        pid, _ = await start_from_files(context, given)
        crashing = asyncio.create_task(_kill_in_a_round(installed, pid)) if crash else None
        language: Language = "zh" if (await repositories.processes.get(pid)).language == "zh" else "en"
        phase = await follow_rounds(console, repositories, pid, language)
        if not phase.ended and phase is not Phase.ANSWERING:
            if crashing is not None:
                crashing.cancel()
            await _stop_waiting(repositories, pid)
        if crashing is not None:
            await crashing
        if phase not in (Phase.COMPLETED, Phase.ANSWERING):
            fail(say("demo.ended_as", phase=say(f"phase.{phase.value}"), command=f"`tongyao show {pid}`"), EXIT_FAILED)
        if crash:
            await _print_ledger(repositories, pid)
        out = config.home / "exports" / pid
        await write_export(repositories, pid, out)
        view = read_access.for_export(await repositories.record(pid))
        then = await _next_steps(installed, pid, out, language)
        if said := await nothing_found(repositories, await repositories.processes.get(pid)):
            console.print(f"\n{said}", style="yellow", markup=False, highlight=False)
        console.print(
            screenful(view, await audited(repositories, pid), language=language, width=console.width), highlight=False
        )
        for line in then:  # whole, however narrow the terminal: links are copied
            console.print(f"  {line}", soft_wrap=True, markup=False, highlight=False)


async def _stop_waiting(repositories: Repositories, pid: str) -> NoReturn:
    """Say what the process waits for, with the commands that answer it. The demo answers nothing."""
    from tongyao.commands.process_view import asks_of

    lines = await asks_of(repositories, await repositories.processes.get(pid))
    fail("\n".join([say("demo.waits"), *lines]), EXIT_FAILED)


def _profiles(folder: Path, recording: Path | None) -> list[Path]:
    """The participants' files: those of a recording in the order of its aliases."""
    if recording is None:
        return sorted((folder / "profiles").glob("*.md"))
    from tongyao.llm.recorded import read_recording

    header, _ = read_recording(recording)
    return [folder / "profiles" / f"{name}.md" for name in header.seats]


async def _next_steps(installed: Installation, pid: str, out: Path, language: Language) -> list[str]:
    """Where everything is, with a personal link for the demander, good once and for seven days; the page of the process last."""
    from tongyao.commands.gateway import gateway_address, link_of

    config, context = installed.settings, installed.context
    demander = (await context.repositories.processes.get(pid)).demander
    where = gateway_address(config)
    servers = say_in(language, "demo.servers_run" if installed.joined else "demo.servers_stop")
    if ":PORT" in where:
        servers += say_in(language, "demo.servers_port")
    steps = {
        "files": out,
        "page": out / "report.html",
        "servers": servers,
        "link": await link_of(context, config, demander),
        "process_page": f"{where}/console/processes/{pid}",
    }
    names = {name: say_in(language, f"demo.{name}") for name in steps}
    widest = max(map(cell_len, names.values()))
    return [f"{set_cell_size(names[name], widest)}  {step}" for name, step in steps.items()]


async def _kill_in_a_round(installed: Installation, process_id: str) -> None:
    """SIGKILL the worker while at least one model call is claimed and not settled, then start it again."""
    if installed.worker is None:
        fail(say("demo.not_own_worker"))
    repositories = installed.context.repositories
    while True:
        totals = await repositories.ledger.usage(process_id)
        if totals.claimed and await repositories.rounds.projections(process_id):
            break
        if (await repositories.processes.get(process_id)).ended_at is not None:
            return
        await asyncio.sleep(0.005)
    pid = installed.worker.pid
    installed.worker.kill()
    console.print(say("demo.killed", pid=pid))


async def _print_ledger(repositories: Repositories, process_id: str) -> None:
    calls = await repositories.ledger.calls(process_id)
    keys = Counter(
        (call.step, call.round, call.alias, call.revision, call.reask) for call in calls if call.state == "settled"
    )
    orphans = [f"{call.step} R{call.round} {call.alias}".strip() for call in calls if call.state == "orphaned"]
    table = Table(title=say("demo.ledger"), title_justify="left", box=None, show_header=False)
    table.add_row(say("demo.attempts"), str(len(calls)))
    table.add_row(say("demo.settled"), str(sum(keys.values())))
    table.add_row(say("demo.most"), str(max(keys.values(), default=0)))
    table.add_row(say("demo.orphaned"), ", ".join(orphans) or say("demo.no_orphans"))
    console.print(table)
