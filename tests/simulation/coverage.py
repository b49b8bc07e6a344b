"""Counts messages by kind, phase and suspension, and records the phases that followed each input."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.generator import OPEN_PHASES
from tests.simulation.run import Ended
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import Phase

ENOUGH: Final = 0.01
"""The required number of messages of one kind in one phase, suspended or not, for each schedule."""

KINDS: Final = tuple(m.MESSAGE_TYPES)


@dataclass
class Coverage:
    """The counts of a simulation. The runner calls `seen` for each input."""

    said: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    accepted: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    followed: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    before_drain: Counter[Phase] = field(default_factory=Counter)
    ends: Counter[Phase] = field(default_factory=Counter)

    def seen(self, phase: str, what: str, suspended: bool, after: str) -> None:
        kind = what.removeprefix("refused ")
        if kind in m.MESSAGE_TYPES:
            self.said[kind, phase, suspended] += 1
        if what == kind:
            self.accepted[kind, phase, suspended] += kind in m.MESSAGE_TYPES
            self.followed[phase, what].add(after)

    def ended(self, how: Ended) -> None:
        self.before_drain[how.before_drain] += 1
        self.ends[how.phase] += 1

    def add(self, other: Coverage) -> None:
        self.said += other.said
        self.accepted += other.accepted
        self.before_drain += other.before_drain
        self.ends += other.ends
        for where, phases in other.followed.items():
            self.followed[where] |= phases

    def gaps(self, least: float | None = None) -> list[str]:
        """Return the kinds that were sent too seldom in a phase. `least`: by default `ENOUGH` for each schedule."""
        least = ENOUGH * self.ends.total() if least is None else least
        return [
            f"{kind} in {phase.value}{', suspended' if suspended else ''}: {self.said[kind, phase.value, suspended]}"
            for kind in KINDS
            for phase in OPEN_PHASES
            for suspended in (False, True)
            if self.said[kind, phase.value, suspended] < least
        ]

    @property
    def expired(self) -> float:
        """Return the share of schedules that ended by the deadline of the whole process."""
        return self.ends[Phase.EXPIRED] / max(1, self.ends.total())

    def table(self) -> str:
        """Return a table of the accepted and all messages by kind and phase, running and suspended."""
        names = [phase.value[:11] for phase in OPEN_PHASES]
        lines = [
            "accepted/said; first line running, second suspended",
            " " * 21 + "".join(f"{name:>12}" for name in names),
        ]
        for kind in KINDS:
            for suspended in (False, True):
                cells = [(kind, phase.value, suspended) for phase in OPEN_PHASES]
                label = "" if suspended else kind
                shown = (f"{self.accepted[cell]}/{self.said[cell]}" for cell in cells)
                lines.append(f"{label:<21}" + "".join(f"{one:>12}" for one in shown))
        ends = ", ".join(f"{phase.value} {count}" for phase, count in self.ends.most_common())
        inner = ", ".join(f"{phase.value} {count}" for phase, count in self.before_drain.most_common())
        return "\n".join([*lines, f"ended: {ends}", f"before they were drained: {inner}"])
