"""Compares several processes round by round: items, relations, notes and plans, and the processes that contain them
(docs/forks.md).

This module has no side effects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import Field

from tongyao.evals.measure import alike
from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.read_access import for_export

What = Literal["said", "related", "noted", "planned"]


class Side(Value):
    """One of the compared processes.

    `asked` and `taken`: model calls. `seconds`: from its beginning to its end, or until now. `lapsed`: turns of a fork
    for which the asked participant has no words, such as `P02 R3`.
    """

    id: str
    forked_from: str | None = None
    fork_round: int = 0
    phase: str
    participants: tuple[str, ...] = ()
    rounds: int = 0
    asked: int = 0
    taken: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    price_unknown: bool = False
    seconds: float = 0.0
    lapsed: tuple[str, ...] = ()


class ComparedEntry(Value):
    """One finding, in the words of each process that has it.

    `who`: an alias, a pair, or a part of the plan. `kind`: the kind of a relation or note.
    """

    round: int = Field(description="0: in the plan.")
    what: What
    who: str
    kind: str = ""
    texts: tuple[str | None, ...] = Field(
        description="By process, in the order of the sides. None: the process does not have the entry."
    )

    @property
    def everywhere(self) -> bool:
        return None not in self.texts


class Comparison(Value):
    sides: tuple[Side, ...]
    entries: tuple[ComparedEntry, ...] = Field(description="Sorted by round, with the plan last.")

    def rounds(self) -> tuple[int, ...]:
        """The rounds of all processes, then 0 if one of them has a plan."""
        numbers = {entry.round for entry in self.entries}
        return (*sorted(numbers - {0}), *({0} & numbers))

    def of(self, round_number: int, what: What) -> tuple[ComparedEntry, ...]:
        return tuple(entry for entry in self.entries if (entry.round, entry.what) == (round_number, what))

    def only_in(self, side: int) -> int:
        """The number of entries that only this process has."""
        alone = [text is not None for text in (None,) * len(self.sides)]
        alone[side] = True
        return sum([text is not None for text in entry.texts] == alone for entry in self.entries)


def compare(sides: Sequence[Side], records: Sequence[Record]) -> Comparison:
    """Compare processes. `records`: the records of the sides, in the same order. Names in them appear as marks."""
    found: list[tuple[tuple[int, What, str, str], list[str | None]]] = []
    for at, record in enumerate(records):
        taken: set[int] = set()
        for key, text in _entries(record):
            places = [n for n, (its, texts) in enumerate(found) if its == key and texts[at] is None and n not in taken]
            same = next(
                (
                    n
                    for n in places
                    if any(text == other or alike(terms(text), terms(other)) for other in found[n][1] if other)
                ),
                None,
            )
            if same is None:
                found.append((key, [None] * len(records)))
                same = len(found) - 1
            found[same][1][at] = text
            taken.add(same)
    order: tuple[What, ...] = ("said", "related", "noted", "planned")
    found.sort(key=lambda one: (one[0][0] == 0, one[0][0], order.index(one[0][1])))
    entries = (
        ComparedEntry(round=number, what=what, who=who, kind=kind, texts=tuple(texts))
        for (number, what, who, kind), texts in found
    )
    return Comparison(sides=tuple(sides), entries=tuple(entries))


def _entries(record: Record) -> Iterator[tuple[tuple[int, What, str, str], str]]:
    view = for_export(record)
    for said in view.projections or ():
        if said.outcome is not Outcome.REPLIED:
            yield (said.round, "said", said.alias, said.outcome.value), ""
        for item in said.items:
            yield (said.round, "said", said.alias, ""), item.text
    for seen in view.observations or ():
        for relation in seen.relations:
            yield (seen.round, "related", " – ".join(relation.between), relation.kind.value), relation.text
        for note in seen.notes:
            who = ", ".join(dict.fromkeys((*note.about, *((note.asks,) if note.asks else ()))))
            yield (seen.round, "noted", who, note.kind.value), note.text
    if view.plan is not None:
        yield from (((0, "planned", *key), text) for key, text in _planned(view.plan))


def _planned(plan: Plan) -> Iterator[tuple[tuple[str, str], str]]:
    for role in plan.roles:
        yield from (((role.alias, "role"), claim.text) for claim in role.conditions)
    yield from ((("", "possible"), claim.text) for claim in plan.possible)
    yield from ((("", "offset"), claim.text) for claim in plan.offsets)
    yield from (((task.assignee, "task"), task.title) for task in plan.tasks)
    yield from ((("", "residual"), residual.title) for residual in plan.residuals)
