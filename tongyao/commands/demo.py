"""`demo`: runs an example on real servers, from a raw intent to a plan. With `--crash`, it also kills the worker."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import typer

from tongyao.commands.context import settings
from tongyao.commands.terminal import EXIT_FAILED, CommandGroup, console, fail
from tongyao.commands.words import language, say

if TYPE_CHECKING:
    from tongyao.records.repositories import Repositories
    from tongyao.runtime.installation import Installation

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
CASES: Final = {"zh": "zh-medicine-mountain", "en": "en-winter-ferry"}
RECORDED: Final = {"zh": "held-out/a2-zh-four-dark-hours", "en": "held-out/b1-en-before-the-headgate"}
"""Cases with a recorded run in `examples/recorded/<case>.jsonl`. examples/README.md describes how to record again."""

app = CommandGroup()


@app.command()
async def demo(
    lang: Annotated[
        Literal["zh", "en"] | None,
        typer.Option(help="zh or en: which of the two example cases. Default: the language of the terminal."),
    ] = None,
    crash: Annotated[
        bool, typer.Option("--crash", help="Kill the worker in the middle of a round, then continue with a new one.")
    ] = False,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded",
            help="Play a run with recorded answers: it needs no key and calls no model.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(help="Run the case of --recorded with the engine of the settings, and write its recording there."),
    ] = None,
) -> None:
    """Run one example process on a real Temporal server and a real PostgreSQL. Prints its rounds live and a summary of the result."""
    os.environ["TONGYAO_LANGUAGE"] = lang = lang or language()
    if recorded and record:
        fail(say("demo.record_and_play"), 2)
    folder = EXAMPLES / (RECORDED if recorded or record else CASES)[lang]
    if not folder.is_dir():
        fail(say("demo.no_examples", folder=folder), 2)
    recording = EXAMPLES / "recorded" / f"{folder.name}.jsonl" if recorded else None
    if recording is not None:  # the worker process reads its settings from the environment, too
        os.environ |= {"TONGYAO_ENGINE": "recorded", "TONGYAO_ENGINE_FILE": str(recording)}
    await _run(folder, lang, crash, recording, record_to=record)


async def _run(folder: Path, lang: str, crash: bool, recording: Path | None, record_to: Path | None = None) -> None:
    """Run the demo. `recording`: a file with answers to play. `record_to`: the file for a recording of this run."""
    from tongyao.app.choosing.choices import nothing_found
    from tongyao.commands.demo_screen import follow_rounds, found, introduction, progress, sources_of
    from tongyao.commands.export import write_export
    from tongyao.commands.gateway import link_of
    from tongyao.commands.models import write_record
    from tongyao.commands.profile_files import start_from_files
    from tongyao.protocol.model.phase import Phase
    from tongyao.protocol.rules import read_access
    from tongyao.runtime import installation
    from tongyao.runtime.local.server_process import make_private
    from tongyao.runtime.observability import logs

    config = settings()
    make_private(config.home)
    logs.configure(config, file=config.home / "logs" / "demo.log")
    console.print(say("demo.purpose"))
    console.print(
        say("demo.answers_recorded" if recording else f"demo.answers_{_kind_of(config.chosen_engine)}"), style="dim"
    )
    people = {f"P{number:02}": path for number, path in enumerate(_profiles(folder), 1)}
    intent = (folder / "intent.txt").read_text(encoding="utf-8").strip()
    for part in introduction(intent, people, console.width):
        console.print(part, highlight=False)
    console.print()
    async with progress(console) as starts, installation.brought_up(config, starts=starts) as installed:
        starts("process")
        if recording is not None and installed.joined:
            fail(say("demo.needs_worker"))
        context, repositories = installed.context, installed.context.repositories
        scene = f"demo-{lang}"  # a separate scene, so that its people are in no scene of the user
        await repositories.scenes.put(scene, scene)
        given = {
            "scene": scene,
            "intent": f"@{folder / 'intent.txt'}",
            "demander": str(folder / "demander.md"),
            "participants": [{"profile_id": str(path)} for path in people.values()],
            "settings": {"auto_confirm": True, "aliases_as_named": bool(recording or record_to)},
        }
        pid, _ = await start_from_files(context, given)
        crashing = asyncio.create_task(_kill_in_a_round(installed, pid)) if crash else None
        phase = await follow_rounds(console, repositories, pid, starts)
        if not phase.ended and phase is not Phase.ANSWERING:
            if crashing is not None:
                crashing.cancel()
            await _stop_waiting(repositories, pid)
        if crashing is not None:
            await crashing
        if phase not in (Phase.COMPLETED, Phase.ANSWERING):
            fail(say("demo.ended_as", phase=say(f"phase.{phase.value}"), command=f"`tongyao show {pid}`"), EXIT_FAILED)
        if crash:
            answers = [call for call in await repositories.ledger.calls(pid) if call.state == "settled"]
            keys = {(call.step, call.round, call.alias, call.revision, call.reask) for call in answers}
            console.print(say("demo.once" if len(keys) == len(answers) else "demo.not_once", n=len(answers)))
        if record_to is not None:
            console.print(say("demo.rerecorded", n=await write_record(repositories, pid, record_to), file=record_to))
        out = config.home / "exports" / pid
        await write_export(repositories, pid, out)
        view = read_access.for_export(await repositories.record(pid))
        if said := await nothing_found(repositories, await repositories.processes.get(pid)):
            console.print(f"\n{said}", markup=False, highlight=False)
        for shown in found(view, console.width):
            console.print(shown, highlight=False)
        demander = (await repositories.processes.get(pid)).demander
        link = await link_of(context, config, demander)
        console.print(say("demo.report", n=sources_of(view)))
        console.print(f"  {out / 'report.html'}", soft_wrap=True, markup=False, highlight=False)
        console.print(say("demo.console"), highlight=False)
        console.print(f"  {link}", soft_wrap=True, markup=False, highlight=False)
        console.print("\n" + say("demo.own_case"), soft_wrap=True, highlight=False)


def _kind_of(engine: str) -> str:
    return "extractive" if engine == "extractive" else "model"


async def _stop_waiting(repositories: Repositories, pid: str) -> NoReturn:
    """Print the open asks with the commands that answer them, and exit. The demo itself answers no ask."""
    from tongyao.commands.process_view import asks_of

    lines = await asks_of(repositories, await repositories.processes.get(pid))
    fail("\n".join([say("demo.waits"), *lines]), EXIT_FAILED)


def _profiles(folder: Path) -> list[Path]:
    """Return the participants' files. If the case has a recording, they are in the order of its aliases."""
    recording = EXAMPLES / "recorded" / f"{folder.name}.jsonl"
    if not recording.exists():
        return sorted((folder / "profiles").glob("*.md"))
    from tongyao.llm.recorded import read_recording

    header, _ = read_recording(recording)
    return [folder / "profiles" / f"{name}.md" for name in header.seats]


async def _kill_in_a_round(installed: Installation, process_id: str) -> None:
    """Kill the worker (SIGKILL) while a model call is not settled, after the first projection. It is then restarted."""
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
    installed.worker.kill()
    console.print(say("demo.killed"))
