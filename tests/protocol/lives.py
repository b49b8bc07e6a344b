"""A process for tests of the state machine: what is said to it, what its steps return, and time, in words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.simulation.oracles import watch
from tests.simulation.oracles.base import Oracle
from tests.simulation.world import Running, World
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import inbox
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import EventKind, Waiting
from tongyao.protocol.model.messages import Message

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class _Verdicts(Oracle):
    """Remembers whether the last message was refused, and every event."""

    def __init__(self) -> None:
        self.code = ""
        self.events: list[Any] = []

    def offered(self, world: World, message: Message) -> None:
        self.code = ""

    def refused(self, world: World, message: Message, code: str) -> None:
        self.code = code

    def settled(self, world: World, events: list[Any]) -> None:
        self.events += events


class Life:
    """One process, watched by all oracles of the simulation.

    `endpoints`: of the participants who are named, in the order of their aliases (`P01`, `P02`, …).
    """

    def __init__(
        self, *endpoints: str, fallback: str = "lapse", start: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        self._verdicts = _Verdicts()
        self.world = World(oracles=[*watch(), self._verdicts])
        people = [
            {"profile_id": f"n{n}", "endpoint": endpoint, "fallback": fallback}
            for n, endpoint in enumerate(endpoints, 1)
        ]
        given = {
            "process_id": "c-1",
            "demander": "d",
            "intent_text_id": "intent",
            "participants": people,
            **(start or {}),
        }
        self.world.apply(
            ["begin", given | {"settings": {"aliases_as_named": True, "correcting_seconds": 0, **settings}}]
        )

    @classmethod
    def in_round_one(cls, *endpoints: str, **given: Any) -> Life:
        """The first round is open."""
        life = cls(*endpoints, auto_confirm=True, **given)
        life.succeed("formulate")
        life.succeed("consent")
        life.succeed("freeze")
        return life

    @classmethod
    def answering(cls, *endpoints: str, residuals_of_plan: int = 0, **given: Any) -> Life:
        """The demander has concluded after one round, and people are asked for their answers."""
        life = cls.in_round_one(*endpoints, **given)
        life.by_demander("conclude")
        for number, endpoint in enumerate(endpoints, 1):
            if endpoint != "proxy":
                life.says(f"P{number:02d}", "words")
        while life.state.round and life.runs("project"):
            life.succeed("project")
        life.succeed("observe")
        life.succeed("plan", residuals=residuals_of_plan)
        life.succeed("deliver")
        return life

    @property
    def state(self) -> State:
        return self.world.state

    @property
    def phase(self) -> str:
        return self.state.phase.value

    # ---- who says what; each returns the code of the refusal, or nothing

    def _say(self, role: str, author: str, kind: str, /, **fields: Any) -> str:
        self.world.apply(["say", {"kind": kind, "role": role, "alias_of_author": author, **fields}])
        return self._verdicts.code

    def by_demander(self, kind: str, **fields: Any) -> str:
        return self._say("demander", "P00", kind, **fields)

    def by(self, alias: str, kind: str, **fields: Any) -> str:
        return self._say("participant", alias, kind, alias=alias, **fields)

    def by_operator(self, kind: str, **fields: Any) -> str:
        return self._say("operator", "", kind, **fields)

    def signal(self, kind: str) -> str:
        """Sent by hand, without a key or a number."""
        self.world.apply(["signal", kind])
        return self._verdicts.code

    def by_child(self, child: str, outcome: str) -> str:
        return self._say("child", child, "child_ended", child=child, outcome=outcome)

    def says(self, alias: str, text: str, *, number: int | None = None, **how: Any) -> str:
        """Words in the present round, or `nothing new` where the text is empty."""
        fields = {"text_id": text} if text else {"nothing_new": True}
        return self.by(alias, "submit_projection", round=number or self.state.round, **fields, **how)

    def store(self, alias: str, kind: str, **fields: Any) -> None:
        """A message is handed in; nothing delivers it yet."""
        role = "demander" if alias == "P00" else "participant"
        named = fields if kind in ("confirm_tension", "approve_residual") else {"alias": alias, **fields}
        self.world.apply(["store", {"kind": kind, "role": role, "alias_of_author": alias, **named}])

    def deliver(self, lane: str) -> str:
        assert self.world.apply(["deliver", lane])
        return self._verdicts.code

    # ---- steps

    def runs(self, name: str) -> list[Running]:
        """Running steps of that name, the first started first."""
        return [one for one in self.world.running.values() if one.step.contract.name == name]

    def succeed(self, name: str, **decisions: Any) -> None:
        self._write()
        running = self.runs(name)
        assert running, f"{name} does not run; running: {list(self.world.running)}"
        self.world.apply(["succeed", running[0].key, decisions])
        self._write()

    def fail(self, name: str, kind: str = "operator", code: str = "no_credit") -> None:
        if name != "record":
            self._write()
        self.world.apply(["fail", self.runs(name)[0].key, kind, code])

    def late(self, name: str, **decisions: Any) -> None:
        """A step that was cancelled ends all the same."""
        key = next(key for key, one in self.world.lost.items() if one.step.contract.name == name)
        assert self.world.apply(["late", key, decisions])

    def _write(self) -> None:
        """The outbox is written as it comes, where nothing else is asked of a test."""
        while "record" in self.world.running and "record" not in self.state.causes:
            self.world.apply(["succeed", "record", {}])

    # ---- time

    def wait(self, time: timedelta) -> None:
        """Time passes, and the process wakes as often as it wants to. Steps that check deadlines are left to the test."""
        until = self.world.now + time
        while (at := self.wakes()) is not None and at <= until:
            self.world.apply(["alarm"])
            self._write()
        self.world.apply(["tick", (until - self.world.now).total_seconds()])
        self._write()

    def sleep(self, time: timedelta) -> None:
        """Time passes, and nothing wakes the process."""
        self.world.apply(["pass", time.total_seconds()])

    def wakes(self) -> datetime | None:
        return machine.wake(self.state)

    # ---- what is to be seen

    def events(self, *kinds: EventKind) -> list[dict[str, Any]]:
        return [one.data for one in self._verdicts.events if one.kind in kinds]

    def asked(self, ask: str = "") -> list[Waiting]:
        return [one for one in inbox(self.state, self.world.now) if not ask or one.ask.value == ask]

    def words_kept(self) -> dict[str, str]:
        """Alias → words of the open round, which can still be corrected."""
        return {
            alias: " ".join(one.text_id for one in turn.words) for alias, turn in self.state.turns.items() if turn.words
        }

    def asked_in_person(self) -> set[str]:
        return {one.alias for one in self.asked("projection")}

    def given(self, name: str) -> list[Any]:
        """Inputs of running steps of that name."""
        return [one.step.input for one in self.runs(name)]

    def turns_asked(self) -> dict[str, str]:
        """Alias → words, empty for a proxy's, of all that is being brought into the record."""
        return {turn.alias: " ".join(turn.submissions) for given in self.given("project") for turn in given.turns}

    def outcomes(self) -> dict[str, str]:
        """Alias → outcome of the turns of the present round that have ended."""
        return {alias: turn.outcome.value for alias, turn in self.state.turns.items() if turn.outcome is not None}
