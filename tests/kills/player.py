"""Plays a schedule in a house, helps its process to the end, and checks what it left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any, Final

from temporalio.client import WorkflowUpdateFailedError
from temporalio.service import RPCError

from tests.kills.checker import Acknowledged, Checker
from tests.kills.house import TEXT, House
from tests.kills.schedules import LENGTH, SHORT, demander_of, next_help, next_input, start_of
from tests.simulation.script import Input, Script, literal
from tests.simulation.talk import tension_of_grade
from tests.support.kept import pending_messages
from tests.support.until import until
from tongyao.app.authorization import invited_author
from tongyao.app.errors import Problem
from tongyao.protocol.contracts.process import STATE_QUERY
from tongyao.protocol.life import machine
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.tension import Tension
from tongyao.records.process.messages import MessageText, message_text_id

SEATED: Final = ("submit_projection", "answer_plan")
QUIET_SECONDS: Final = 6.0
ANSWER_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 240.0
QUERY_SECONDS: Final = 5.0


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
        demander = demander_of(start)
        given = {name: start[name] for name in ("participants", "scene") if name in start}
        people = [Choice.model_validate(one) for one in given.pop("participants", ())]
        self.process_id = await self.house.stack.start(
            people, key=start["key"], demander=demander, **given, **start["settings"]
        )
        await until(self._look, "the first state")

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
                owner=demander_of(self._start), kind="words", text=f"{TEXT.format(n=0)} {fields['text_id']}."
            )
            fields["text_id"] = message_text_id(process_id, author_id, key)
        if kind == "revise_tension":
            tension = Tension.model_validate({"language": "en", **tension_of_grade(fields["tension"]["grade"])})
            text = MessageText(owner=demander_of(self._start), kind="tension", text=tension.model_dump_json())
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

    async def _signal(self, kind: str) -> None:
        with suppress(RPCError):  # it may have ended
            await self.house.stack.handle(self.process_id).signal(kind, {})
        await self._look()

    async def _quiet(self) -> None:
        """Return when no step is wanted and no message is on its way, or when that takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS):
                while not (await self._look() and await self._is_quiet()):
                    await asyncio.sleep(0.05)

    async def _is_quiet(self) -> bool:
        works = any(not step.held for step in machine.wanted(self.state).values())
        return not works and not await pending_messages(self.house.stack.repositories.pool, self.process_id)

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


async def run_seed(house: House, seed: int, *, length: int = LENGTH) -> Played:
    """Generate and play one schedule, drain it, check what it left. Raises `AssertionError` with a script that plays it again."""
    rng, played = Random(f"schedule/{seed}"), Played(house)

    async def inputs() -> AsyncIterator[Input]:
        yield ["begin", start_of(seed)]
        kill_at = rng.randrange(4, length)
        for number in range(length):
            if played.state.phase.ended:
                return
            given = next_input(rng, played.state, down=house.down, jumps=house.environment is not None)
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
