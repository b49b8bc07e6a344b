"""What is done to an installation: kinds of faults, how they are drawn, and how long each lasted."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, get_args

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.service import RPCError

from tests.chaos.clock import ShiftedClock
from tests.chaos.disk import SmallDisk
from tests.chaos.installation import GATEWAY, POSTGRES, TEMPORAL, Installation
from tongyao.protocol.contracts import process as steps

Kind = Literal[
    "kill worker", "kill worker in step", "kill gateway", "kill temporal", "kill postgres", "kill all",
    "pause", "cut", "slow", "freeze", "clock", "disk full",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

WEIGHTS: Final[dict[Kind, int]] = {
    "kill worker": 2, "kill worker in step": 4, "kill gateway": 2, "kill temporal": 4, "kill postgres": 4, "kill all": 1,
    "pause": 6, "cut": 6, "slow": 3, "freeze": 4, "clock": 3, "disk full": 2,
}  # fmt: skip
"""Workers and gateways start slowly, so they are killed less often than the servers."""

STEPS: Final = (
    steps.FORMULATE, steps.DISCOVER, steps.CONSENT, steps.FREEZE, steps.PROJECT, steps.OBSERVE, steps.PLAN, steps.DELIVER,
    steps.RECORD, steps.CHECK_DEADLINE, steps.PROPOSE, steps.REMEMBER, steps.BRANCH, steps.CANCEL_CHILDREN,
)  # fmt: skip
"""Every step that a process may take."""

STEP_SECONDS: Final = 4.0
"""How long a fault waits for somebody to be in its step. Then it comes at random."""

LOOK_SECONDS: Final = 0.25
JUMPS: Final = (-86_400, -3_600, -61, 61, 3_600, 86_400, 8 * 86_400)
SLOW_SECONDS: Final = (0.05, 0.2)
"""Before each piece of data, in each direction."""


@dataclass(frozen=True)
class Fault:
    """`target`: a part, a line or a step, empty where there is no choice. `seconds`: how long it lasts. `amount`: how slow, or which jump."""

    kind: Kind
    target: str = ""
    seconds: float = 0.0
    amount: float = 0.0

    def __str__(self) -> str:
        parts = [
            self.kind,
            self.target,
            f"{self.amount:g}" if self.amount else "",
            f"{self.seconds:.1f} s" if self.seconds else "",
        ]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Span:
    """When something was wrong, by `time.monotonic`."""

    fault: Fault
    began: float
    ended: float


class Faults:
    """Draws faults from a seed, and does them."""

    def __init__(
        self,
        here: Installation,
        rng: Random,
        *,
        kinds: Sequence[Kind],
        disk: SmallDisk | None,
        clock: ShiftedClock | None,
        longest: float,
    ) -> None:
        """`kinds`: of which to draw; those that are not possible here are left out. `longest`: seconds that a fault lasts at most."""
        self._here, self._rng, self._disk, self._clock, self._longest = here, rng, disk, clock, longest
        impossible = {"disk full": disk is None, "clock": clock is None}
        self._kinds = [kind for kind in kinds if not impossible.get(kind, False)]
        self._steps = [step.name for step in STEPS]
        self.spans: list[Span] = []
        self.met: set[str] = set()
        """Steps in which a worker was killed."""

    def order(self, count: int) -> list[Kind]:
        """So many kinds: each at least once where there are enough, the others by their weights."""
        kinds = self._kinds
        drawn = self._rng.choices(kinds, [WEIGHTS[kind] for kind in kinds], k=max(0, count - len(kinds)))
        order = [*kinds, *drawn]
        self._rng.shuffle(order)
        return order[:count]

    def draw(self, kind: Kind) -> Fault:
        rng, here = self._rng, self._here
        seconds = rng.uniform(0.5, self._longest)
        match kind:
            case "kill worker":
                return Fault(kind, rng.choice(self._workers()))
            case "kill worker in step":
                return Fault(kind, self._next_step())
            case "pause":
                return Fault(kind, rng.choice(here.parts), seconds)
            case "cut" | "freeze":
                return Fault(kind, rng.choice(sorted(here.lines)), seconds)
            case "slow":
                return Fault(kind, rng.choice(sorted(here.lines)), seconds, rng.choice(SLOW_SECONDS))
            case "clock":
                return Fault(kind, "", seconds, rng.choice(JUMPS))
            case "disk full":
                return Fault(kind, "", seconds)
            case _:
                return Fault(kind)

    async def apply(self, fault: Fault, open_processes: Sequence[str]) -> None:
        """Do it, undo it, and return when everything runs again. Raises `TimeoutError`.

        `open_processes`: of which some may be in the step in which a worker is to be killed.
        """
        if fault.kind == "kill worker in step":
            victims = [await self._worker_in(fault.target, open_processes)]
        else:
            victims = self._victims(fault)
        before = {part: self._here.pid_of(part) for part in victims}
        began = time.monotonic()
        for part in victims:
            self._here.signal(part, signal.SIGKILL)
        try:
            await self._disturb(fault)
        finally:
            await self._here.until_back({part: pid for part, pid in before.items() if pid is not None})
            self.spans.append(Span(fault, began, time.monotonic()))

    async def _disturb(self, fault: Fault) -> None:
        line = self._here.lines.get(fault.target)
        match fault.kind:
            case "pause":
                self._here.signal(fault.target, signal.SIGSTOP)
            case "cut":
                assert line is not None
                await line.cut()
            case "freeze":
                assert line is not None
                line.freeze()
            case "slow":
                assert line is not None
                line.delay = fault.amount
            case "clock":
                assert self._clock is not None
                self._clock.shift(int(fault.amount))
            case "disk full":
                assert self._disk is not None
                await asyncio.to_thread(self._disk.fill)
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            if fault.kind == "pause":
                self._here.signal(fault.target, signal.SIGCONT)
            if line is not None:
                line.delay = 0.0
                line.restore()
            if fault.kind == "clock" and self._clock is not None:
                self._clock.shift(0)
            if fault.kind == "disk full" and self._disk is not None:
                self._disk.relieve()

    def _victims(self, fault: Fault) -> list[str]:
        match fault.kind:
            case "kill worker":
                return [fault.target]
            case "kill gateway":
                return [GATEWAY]
            case "kill temporal":
                return [TEMPORAL]
            case "kill postgres":
                return [POSTGRES]
            case "kill all":
                return list(self._here.parts)
            case _:
                return []

    def _workers(self) -> list[str]:
        return [name for name in self._here.programs if name != GATEWAY]

    def _next_step(self) -> str:
        """Steps take turns; those in which nobody was killed so far go first."""
        missing = [step for step in self._steps if step not in self.met]
        return self._rng.choice(missing or self._steps)

    async def _worker_in(self, step: str, open_processes: Sequence[str]) -> str:
        """Some worker, once one of them is in this step, or after a while."""
        workers = self._workers()
        with suppress(TimeoutError, RPCError):
            async with asyncio.timeout(STEP_SECONDS):
                while True:
                    for process_id in open_processes:
                        if (identity := await self._identity_in(step, process_id)) is not None:
                            self.met.add(step)
                            named = (name for name in workers if identity.startswith(f"{self._here.pid_of(name)}@"))
                            return next(named, workers[0])
                    await asyncio.sleep(LOOK_SECONDS)
        return self._rng.choice(workers)

    async def _identity_in(self, step: str, process_id: str) -> str | None:
        described = await self._here.client.get_workflow_handle(process_id).describe()
        for one in described.raw_description.pending_activities:
            if one.activity_type.name == step and one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED:
                return str(one.last_worker_identity)
        return None
