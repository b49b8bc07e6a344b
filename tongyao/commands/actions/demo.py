"""What `demo` does: one of the examples on real servers, from a raw intent to a plan; with `--crash`, through a killed worker."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NoReturn

from rich.cells import cell_len, set_cell_size
from rich.table import Table

from tongyao.app.choosing.findings import nothing_found
from tongyao.app.people.sessions import issue_link, link_address
from tongyao.commands.actions.export import write_export
from tongyao.commands.actions.start import start_from_files
from tongyao.commands.context import OPERATOR, settings
from tongyao.commands.demo_screen import follow_rounds, screenful
from tongyao.commands.process_view import asks_of
from tongyao.commands.showing import audited
from tongyao.commands.terminal import EXIT_FAILED, console, fail
from tongyao.commands.ways_in import gateway_address
from tongyao.commands.words import say
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.requests import Language
from tongyao.protocol.rules import read_access
from tongyao.records.repositories import Repositories
from tongyao.runtime import installation
from tongyao.runtime.installation import Installation

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

_NO_MODEL = {
    "en": "No model: the extractive engine quotes what profiles say and judges nothing. Set ANTHROPIC_API_KEY for Claude.",
    "zh": "没有用模型：抽取式引擎只引用档案里的话，不作判断。要用 Claude，请设置 ANTHROPIC_API_KEY。",
}

_RECORDED = {
    "en": "A recording: every request is answered by hand, as a good model might answer.",
    "zh": "这是一份记录：每一个请求的回答都是人写的，写成一个好模型会给的样子。",
}

CASES = {"zh": "zh-medicine-mountain", "en": "en-winter-ferry"}

RECORDED = {"zh": "held-out/a2-zh-four-dark-hours", "en": "held-out/b1-en-before-the-headgate"}
"""Cases of which `examples/recorded/<case>.jsonl` holds a run."""


async def demo(folder: Path, lang: str, crash: bool, recording: Path | None) -> None:
    config = settings()
    console.print(f"[bold]{folder.name}[/bold]: {(folder / 'intent.txt').read_text(encoding='utf-8').strip()}\n")
    if config.chosen_engine == "extractive":
        console.print(_NO_MODEL[lang] + "\n", style="dim")
    if recording is not None:
        console.print(_RECORDED[lang] + "\n", style="dim")
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
    """Where everything lies, with a personal link for whoever brought the intent, good once and for seven days; the page of the process last."""
    config, context = installed.settings, installed.context
    demander = (await context.repositories.processes.get(pid)).demander
    where = gateway_address(config)
    link = link_address(where, (await issue_link(context, OPERATOR, demander)).secret)
    page = f"{where}/console/processes/{pid}"
    if language == "zh":
        servers = "继续运行" if installed.joined else "现在停下，状态都保留；用 `tongyao up` 启动服务和网页界面"
        servers += "（它会打印地址里的 PORT）" if ":PORT" in where else ""
        steps = {"全部文件": out, "一页看完": out / "report.html", "服务": servers, "登录链接": link, "过程页": page}
    else:
        servers = (
            "run on" if installed.joined else "stop now, their state stays; `tongyao up` runs them and the console"
        )
        servers += " (and prints the PORT of the addresses below)" if ":PORT" in where else ""
        steps = {
            "As files": out,
            "On one page": out / "report.html",
            "Servers": servers,
            "Come in": link,
            "Its page": page,
        }
    widest = max(cell_len(name) for name in steps)
    return [f"{set_cell_size(name, widest)}  {step}" for name, step in steps.items()]


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
    keys: dict[tuple[str, int, str, int, int], int] = {}
    for call in calls:
        if call.state == "settled":
            key = (call.step, call.round, call.alias, call.revision, call.reask)
            keys[key] = keys.get(key, 0) + 1
    orphans = [f"{call.step} R{call.round} {call.alias}".strip() for call in calls if call.state == "orphaned"]
    table = Table(title=say("demo.ledger"), title_justify="left", box=None, show_header=False)
    table.add_row(say("demo.attempts"), str(len(calls)))
    table.add_row(say("demo.settled"), str(sum(keys.values())))
    table.add_row(say("demo.most"), str(max(keys.values(), default=0)))
    table.add_row(say("demo.orphaned"), ", ".join(orphans) or say("demo.none"))
    console.print(table)
