"""Generated schedules through a real server: a real worker that is killed, real rows, real time.

What people say is drawn as in `tests.simulation`, from the state that the process itself shows. A schedule comes from a seed, but not
alone: what is drawn depends on how far the process has come by then. What was done is written down as a script, which plays the same
inputs again. Of a script an input is a JSON list:

- `["begin", start]`: `settings`, `participants`, `scene`; `rules` of the scripted engine for this process; always first.
- `["say", message]`: through the relay; fields as in `tests.simulation.script`, without a number. `["signal", message]`.
- `["quiet"]`: wait until nothing but people and time is waited for.
- `["down"]`, `["up"]`: the worker is killed, with SIGKILL; started. `["kill"]`: both.
- `["pass", seconds]`: time passes, on the server whose clock can be moved.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tests.kills.checker import Acknowledged, Checker
from tests.kills.service import REPOSITORY
from tests.simulation import generator, talk
from tests.simulation.script import Input, Script, literal
from tests.support.stack import Stack
from tongyao.app.authorization import invited_author
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.app.start import process_id_of
from tongyao.protocol.contracts.process import STATE_QUERY
from tongyao.protocol.life import machine
from tongyao.protocol.life.phases.answering import open_points
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.tension import MISSING, Tension
from tongyao.protocol.rules.consent import Consent
from tongyao.records.process.messages import MessageText, message_text_id
from tongyao.runtime import wiring
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.worker_process import WORKER_FILE, WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect

LENGTH: Final = 30
"""Inputs of a schedule before it is drained."""

SHORT: Final = 12
"""Inputs where there is little time. Then the worker is killed once only: each start of one takes seconds."""

SCENE: Final = "harbour"
PEOPLE: Final = 30
"""Profiles `n0`, `n1`, …, as `talk` names them. Who has an odd tens digit is asked each time."""

TEXT: Final = (
    "I repair tide gauges. I can offer ten years of readings. I will not travel in winter. I am number {n} here."
)
QUIET_SECONDS: Final = 6.0
ANSWER_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 240.0
QUERY_SECONDS: Final = 5.0
SEATED: Final = ("submit_projection", "answer_plan")


class House:
    """Servers, a worker of its own, and people; it holds for many schedules."""

    def __init__(
        self, stack: Stack, worker: WorkerProcess, database_url: str, environment: WorkflowEnvironment | None = None
    ) -> None:
        self.stack, self.worker, self.database_url, self.environment = stack, worker, database_url, environment
        self.down = False

    @property
    def client(self) -> Client:
        return self.stack.client

    async def set_down(self) -> None:
        self.down = True
        self.worker.kill()

    async def set_up(self) -> None:
        if self.worker.pid is None:
            await self.worker.start()
        self.down = False

    async def watch(self) -> None:
        """Start a worker that died in the middle of a call, as its supervisor would."""
        while True:
            if not self.down and self.worker.pid is None:
                await self.worker.start()
            await asyncio.sleep(0.2)


@asynccontextmanager
async def opened(
    database_url: str,
    home: Path,
    rules: Sequence[dict[str, Any]],
    *,
    environment: WorkflowEnvironment | None = None,
) -> AsyncIterator[House]:
    """A house whose engine follows `rules`; on the dev server, or on the one of `environment`."""
    script = home / "script.json"
    usage = {"verdicts": ["more", "more", "exhausted"], "seconds": 0.1, "residuals": 1, "cost": "0.05"}
    script.write_text(json.dumps({**usage, "rules": list(rules)}))
    settings = Settings(home=home)
    async with AsyncExitStack() as exit_stack:
        if environment is None:
            temporal = LocalTemporal(home)
            address = await temporal.start()
            exit_stack.push_async_callback(asyncio.to_thread, temporal.stop)
        else:
            address = environment.client.service_client.config.target_host
        client = await connect(settings, address=address, new_namespace=environment is not None)
        repositories = await exit_stack.enter_async_context(wiring.repositories(settings, database_url=database_url))
        variables = {
            "DATABASE_URL": database_url,
            "TEMPORAL_ADDRESS": address,
            "TONGYAO_HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),  # a worker is started by the path of its file
            "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
            "TONGYAO_ENGINE_FILE": str(script),
        }
        program = WORKER_FILE if environment is None else Path(__file__).with_name("worker_for_time_skipping.py")
        worker = WorkerProcess(variables, log=home / "worker.log", file=program)
        exit_stack.push_async_callback(worker.stop)
        await worker.start()
        context = AppContext(repositories, client)
        house = House(Stack(context, environment), worker, database_url, environment)
        await _settle_people(house)
        stop = asyncio.Event()
        watching = asyncio.create_task(house.watch())
        relaying = asyncio.create_task(context.relay.run(stop, idle=0.1))
        try:
            yield house
        finally:
            watching.cancel()
            stop.set()
            await asyncio.gather(watching, relaying, return_exceptions=True)


async def _settle_people(house: House) -> None:
    repositories = house.stack.repositories
    await repositories.profiles.put_scene(SCENE, SCENE)
    for n in range(PEOPLE):
        await house.stack.register(f"n{n}", scene=SCENE, name=f"Nobody {_letters(n)}", text=TEXT.format(n=n))
        if n // 10 % 2:
            await repositories.consents.put(f"n{n}", SCENE, Consent.ASK)


def _letters(n: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(n))


# ---- what is drawn


def start_of(seed: int) -> dict[str, Any]:
    """How the process of a seed begins, and what goes wrong with its model calls."""
    rng = Random(f"start/{seed}")
    drawn = generator.start(rng, generator.manner(rng, seed))
    settings = drawn["settings"] | {"correcting_seconds": rng.choice((0, 0, 1)), "depth_limit": 1}
    if rng.random() < 0.7:
        settings["max_rounds"] = rng.choice((3, 5))
    start: dict[str, Any] = {"key": f"seed-{seed}", "settings": settings, "scene": SCENE, "rules": []}
    if "participants" in drawn:
        start["participants"] = drawn["participants"]
    for _ in range(rng.choice((0, 1, 1, 2))):
        do = rng.choice(("transient", "operator_needed", "crash", "crash", "unreadable"))
        step = rng.choice(("formulate", "project", "project", "observe", "plan", "deliver"))
        rule: dict[str, Any] = {"step": step, "do": do, "attempt": 1}
        if step in ("project", "observe"):
            rule["round"] = rng.randint(1, 3)
        start["rules"].append(rule)
    return start


def rules_of(start: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the scripted engine, which is told all of them when its worker starts."""
    return [{**rule, "process": process_id_of(_demander(start), start["key"])} for rule in start["rules"]]


def _demander(start: dict[str, Any]) -> str:
    return f"demander-of-{start['key']}"


def next_input(rng: Random, world: Played) -> Input:
    x = rng.random()
    if world.house.down:
        if x < 0.3:
            return ["up"]
    elif x < 0.06:
        return ["kill"]
    elif x < 0.12:
        return ["down"]
    elif x < 0.45:
        return ["quiet"]
    if world.house.environment is not None and rng.random() < 0.15:
        return ["pass", rng.choice((600, 40_000, 86_400, 259_200))]
    kind = rng.choice([kind for kind in m.KINDS if kind != "child_ended"]) if rng.random() < 0.12 else ""
    message = talk.message(rng, world.state, kind)
    message.pop("number", None)
    if message["kind"] in ("cancel", "leave") and rng.random() < 0.8:
        message |= {"role": "participant", "alias_of_author": "P09"}
    if (
        message["role"] == "child" or message["kind"] == "child_ended"
    ):  # a child's end is a row that the child's own end inserts
        return ["quiet"]
    if message["role"] == "operator" and rng.random() < 0.4:
        message.pop("via", None)
        return ["signal", message]
    return ["say", message]


# ---- what is played


class Played:
    """One process under one schedule. `script`: what was done so far."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.script: Script = []
        self.told: list[Acknowledged] = []
        self.process_id = ""
        self.state: State
        self._sent = 0

    async def apply(self, given: Input) -> None:
        self.script.append(given)
        name, *rest = given
        await getattr(self, f"_{name}")(*rest)

    async def _begin(self, start: dict[str, Any]) -> None:
        self._start = start
        demander = _demander(start)
        given = {name: start[name] for name in ("participants", "scene") if name in start}
        people = [Choice.model_validate(one) for one in given.pop("participants", ())]
        self.process_id = await self.house.stack.start(
            people, key=start["key"], demander=demander, **given, **start["settings"]
        )
        while not await self._look():
            await asyncio.sleep(0.05)

    async def _say(self, fields: dict[str, Any]) -> None:
        await self.send(fields)
        await self._look()

    async def send(self, fields: dict[str, Any], process_id: str = "") -> None:
        """Store and deliver a message as the gateway would; what its sender is told is kept."""
        process_id = process_id or self.process_id
        fields = dict(fields)
        kind, via = fields["kind"], fields.pop("via", "")
        author = m.Author(role=fields.pop("role"), alias=fields.pop("alias_of_author"))
        author_id = f"{author.role}:{author.alias}"
        if author.role == "invited":
            asks = await self.house.stack.repositories.inbox.of_process(process_id)
            author_id = next((invited_author(one.person or "") for one in asks if one.alias == author.alias), author_id)
        self._sent += 1
        key = f"message-{self._sent}"
        text = None
        if kind in SEATED and fields.get("text_id"):
            text = MessageText(
                owner=_demander(self._start), kind="words", text=f"{TEXT.format(n=0)} {fields['text_id']}."
            )
            fields["text_id"] = message_text_id(process_id, author_id, key)
        if kind == "revise_tension":
            tension = Tension.model_validate({"language": "en", **_tension(fields["tension"]["grade"])})
            text = MessageText(owner=_demander(self._start), kind="tension", text=tension.model_dump_json())
            fields["tension"] = {
                "text_id": message_text_id(process_id, author_id, key),
                "grade": tension.grade,
                "barriers": len(tension.barriers),
            }
        message = m.MESSAGE.validate_python({"key": key, "author": author, **fields})
        try:
            stored = await self.house.stack.relay.send(
                process_id,
                message,
                author_id=author_id,
                via="mcp" if via else "api",
                text=text,
                wait=ANSWER_SECONDS,
            )
        except Problem as refused:  # nothing was stored
            self.told.append(Acknowledged(process_id, key, refused.code))
            return
        said = "waiting" if stored.verdict is None else "applied" if stored.verdict.accepted else stored.verdict.code
        self.told.append(Acknowledged(process_id, key, said))

    async def _signal(self, fields: dict[str, Any]) -> None:
        payload = {name: value for name, value in fields.items() if name not in ("kind", "role", "alias_of_author")}
        if payload.pop("text_id", ""):
            payload["text"] = TEXT.format(n=0)
        if "tension" in payload:
            payload["tension"] = _tension(payload["tension"]["grade"])
        with suppress(RPCError):  # it may have ended
            await self.house.stack.handle(self.process_id).signal(fields["kind"], payload)
        await self._look()

    async def _quiet(self) -> None:
        """Return when no step is wanted and no message is on its way, or when that takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS):
                while not (await self._look() and await self._is_quiet()):
                    await asyncio.sleep(0.05)

    async def _is_quiet(self) -> bool:
        works = any(not step.held for step in machine.wanted(self.state).values())
        return not works and not await self.house.stack.repositories.messages.pending(self.process_id)

    async def _down(self) -> None:
        await self.house.set_down()

    async def _up(self) -> None:
        await self.house.set_up()

    async def _kill(self) -> None:
        await self.house.set_down()
        await self.house.set_up()

    async def _pass(self, seconds: float) -> None:
        assert self.house.environment is not None, "only a time-skipping server has a clock that can be moved"
        if self.house.down:  # time does not jump over a worker that is away: its queues would be given up
            await self.house.set_up()
        await self._quiet()
        with suppress(RPCError):  # the server answers when the time is over; a busy one later than its client waits
            await self.house.environment.sleep(timedelta(seconds=seconds))

    async def _look(self, process_id: str = "") -> State | None:
        """Ask for the state; None: nobody answers now."""
        if self.house.down:
            return None
        try:
            state: State = await self.house.stack.handle(process_id or self.process_id).query(
                STATE_QUERY, result_type=State, rpc_timeout=timedelta(seconds=QUERY_SECONDS)
            )
        except (RPCError, WorkflowUpdateFailedError):
            return None
        if not process_id:
            self.state = state
        return state

    # ---- the end

    async def drain(self) -> None:
        """Help the process and its children along until all have ended. Raises `TimeoutError` with where they stand."""
        repositories = self.house.stack.repositories
        await self.house.set_up()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while open_ones := [
                    row.id for row in (await repositories.lineage.tree(self.process_id)).all() if row.ended_at is None
                ]:
                    for pid in open_ones:
                        state = await self._look(pid)
                        for fields in next_help(state) if state is not None else ():
                            await self.send(fields, pid)
                    await asyncio.sleep(0.1)
                for row in (await repositories.lineage.tree(self.process_id)).all():
                    await self.house.client.get_workflow_handle(row.id).result()
                while not await self._look():
                    await asyncio.sleep(0.1)
        except TimeoutError:
            state = await self._look()
            raise TimeoutError(f"did not end: {state and state.phase}, {open_ones}") from None

    async def check(self) -> None:
        """Raises `AssertionError` with what is wrong."""
        checker = Checker(self.house.database_url, self.house.client)
        rows = (await self.house.stack.repositories.lineage.tree(self.process_id)).all()
        wrong = {
            row.id: await checker.examine(row.id, [one for one in self.told if one.process_id == row.id])
            for row in rows
        }
        assert not any(wrong.values()), {pid: found for pid, found in wrong.items() if found}


def next_help(state: State) -> list[dict[str, Any]]:
    """What would move a process that waits for people or operators: the shortest way to its end."""
    demander = {"role": "demander", "alias_of_author": DEMANDER}
    if any(cause.kind == "operator" for cause in state.causes.values()):
        return [{"kind": "resume", "role": "operator", "alias_of_author": ""}]
    said: list[dict[str, Any]] = []
    match state.phase:
        case Phase.CONFIRMING:
            said.append({"kind": "confirm_tension", **demander})
        case Phase.SELECTING:
            count = max(2, state.start.settings.quorum)
            said.append(
                {
                    "kind": "select_participants",
                    "participants": [{"profile_id": f"n{n}"} for n in range(count)],
                    **demander,
                }
            )
        case Phase.CONSENTING:
            for one in state.invitations:
                if one.waits:
                    author = {"role": "invited", "alias_of_author": f"invited/{one.number}"}
                    said.append({"kind": "consent", "invitation": one.number, "allow": True, **author})
        case Phase.CRYSTALLIZING:
            for turn in state.waiting_for:
                author = {
                    "role": "demander" if turn.alias == DEMANDER else "participant",
                    "alias_of_author": turn.alias,
                }
                said.append(
                    {
                        "kind": "submit_projection",
                        "alias": turn.alias,
                        "round": state.round,
                        "nothing_new": True,
                        **author,
                    }
                )
        case Phase.DECIDING:
            said.append({"kind": "decide", "decision": "accept_as_is", **demander})
        case Phase.ANSWERING:
            for residual in state.undecided:
                said.append({"kind": "approve_residual", "residual": residual, "approve": False, **demander})
            for alias in state.asked_for_answers:
                if alias not in state.answers:
                    author = {"role": "demander" if alias == DEMANDER else "participant", "alias_of_author": alias}
                    said.append(
                        {
                            "kind": "answer_plan",
                            "alias": alias,
                            "revision": state.plan_revision,
                            "answer": "commit",
                            **author,
                        }
                    )
            if not said and open_points(state):
                said.append({"kind": "conclude", **demander})
        case Phase.AWAITING_CHILDREN:
            said.append({"kind": "conclude", **demander})
    return said


def _tension(grade: str) -> dict[str, Any]:
    whole = {
        "transition": "From gauges that nobody reads to a harbour that knows its tides.",
        "initial_state": "Three gauges, one of them broken.",
        "barriers": ["Nobody can repair the third gauge."],
        "exchange": "Ten years of readings.",
    }
    return whole | {"A": {}, "B": {"exchange": MISSING}, "C": {"initial_state": MISSING}}[grade]


async def run_seed(house: House, seed: int, *, length: int = LENGTH) -> Played:
    """Generate and play one schedule, drain it, check what it left. Raises `AssertionError` with a script that plays it again."""
    rng, played = Random(f"schedule/{seed}"), Played(house)

    async def inputs() -> AsyncIterator[Input]:
        yield ["begin", start_of(seed)]
        kill_at = rng.randrange(4, length)
        for number in range(length):
            if played.state.phase.ended:
                return
            given = next_input(rng, played)
            if length <= SHORT and given[0] in ("kill", "down"):
                given = ["quiet"]
            yield ["kill"] if number == kill_at else given

    return await _play(played, inputs(), f"seed {seed}")


async def play(house: House, script: Script) -> Played:
    """Play a script. The house must know its rules, see `rules_of`."""

    async def inputs() -> AsyncIterator[Input]:
        for given in script:
            yield given

    return await _play(Played(house), inputs(), "script")


async def _play(played: Played, inputs: AsyncIterator[Input], name: str) -> Played:
    try:
        async for given in inputs:
            await played.apply(given)
        await played.drain()
        await played.check()
    except Exception as cause:
        raise AssertionError(
            f"{name}: {type(cause).__name__}: {cause}\n"
            "Save this as a file and play it with `python -m tests.kills --replay FILE`:\n"
            f"{literal(played.script)}"
        ) from cause
    return played
