"""Measures those properties of the protocol that one record can show or refute (docs/protocol.md §13). Pure.

Properties have the numbers of specification 000. Properties that need several runs, or that code always ensures, are
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.ids import all_pairs
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process_settings import MAX_ROUNDS
from tongyao.protocol.model.projection import Item, ItemKind, Outcome
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value
from tongyao.texts.catalogue import in_both


class Result(StrEnum):
    HOLDS = "holds"
    FALSIFIED = "falsified"
    BY_CONSTRUCTION = "true by construction"
    """Code ensures the property, so the result is no evidence about models."""
    NO_MATERIAL = "no material"


class AuditFinding(Value):
    """One property checked against one record. `figure`: the measured value. `falsifier`: a refuting result."""

    number: int
    claim: str
    falsifier: str
    result: Result
    figure: str
    figure_zh: str


Measured = tuple[Result, str, str]
"""The result, and the measured value in English and in Chinese."""

_COUNTED: Final = ("reasked", "struck", "struck_by_catalyst")
"""Counts of the checks that have a translated name. The other counts are shown under the name of their reason."""


def _told(result: Result, key: str, **values: object) -> Measured:
    """Return a result and its measured value in words. `key`: of the text in `tongyao/texts/protocol/audit.toml`."""
    return result, *in_both("protocol", f"audit.{key}", **values)


def audit(record: Record, *, guards: Sequence[Mapping[str, int]] = ()) -> tuple[AuditFinding, ...]:
    """Return one finding for each property, by number, and as number 15 the counts of the checks of answers."""
    measured = {number: measure(record) for number, measure in _PROPERTIES.items()} | {15: _guards(record, guards)}
    return tuple(
        AuditFinding(
            number=number,
            claim=in_both("console", f"audit.p{number}")[0],
            falsifier=in_both("protocol", f"audit.falsifier{number}")[0],
            result=result,
            figure=figure,
            figure_zh=figure_zh,
        )
        for number, (result, figure, figure_zh) in measured.items()
    )


def ended_by_itself(record: Record) -> bool:
    """Whether the rounds ended because nothing new came, by the last verdict or by all turns of the last round."""
    if not record.observations:
        return False
    last = record.observations[-1]
    turns = [said.outcome for said in record.projections if said.round == last.round and said.outcome != Outcome.LEFT]
    return last.verdict is Verdict.EXHAUSTED or (bool(turns) and set(turns) == {Outcome.NOTHING_NEW})


def _cut_short(record: Record) -> bool:
    """Whether the rounds are not finished: they are still running, or a decision ended them early."""
    return record.observations[-1].round < MAX_ROUNDS and not ended_by_itself(record)


def _result(holds: bool) -> Result:
    return Result.HOLDS if holds else Result.FALSIFIED


def _barriers_apart(record: Record) -> Measured:
    on_barriers = [[line for line in item.about if line.startswith("B")] for item in record.items()]
    aimed = [lines for lines in on_barriers if lines]
    if record.tension is None or len(record.tension.barriers) < 2 or not aimed:
        return _told(Result.NO_MATERIAL, "few_barriers")
    merged = sum(len(lines) > 1 for lines in aimed)
    return _told(_result(merged * 4 <= len(aimed)), "merged", merged=merged, aimed=len(aimed))


def _rounds(record: Record) -> Measured:
    if not record.observations:
        return _told(Result.NO_MATERIAL, "no_round")
    if _cut_short(record):
        return _told(Result.NO_MATERIAL, "cut_short")
    count = record.observations[-1].round
    return _told(_result(count < MAX_ROUNDS or ended_by_itself(record)), "rounds", count=count)


def _exhaustion_not_bandwidth(record: Record) -> Measured:
    """Compare the rounds after the first. Code permits more items in the first round, so it is not comparable."""
    if len(record.observations) < 3:
        return _told(Result.NO_MATERIAL, "few_rounds")
    items = [len(_said_in(record, seen.round)) for seen in record.observations]
    if items[-1] <= items[1] and _cut_short(record):
        return _told(Result.NO_MATERIAL, "cut_short")
    relations = [len(seen.relations) for seen in record.observations]
    return _told(_result(items[-1] <= items[1]), "by_round", items=items, relations=relations)


def _boundary_first(record: Record) -> Measured:
    stopped: dict[str, int] = {}
    shares: dict[str, float] = {}
    for alias in record.contributors():
        said = [turn for turn in record.projections if turn.alias == alias and turn.items]
        kinds = [item.kind for turn in said for item in turn.items if item.kind is not None]
        if kinds:
            stopped[alias] = max(turn.round for turn in said)
            shares[alias] = kinds.count(ItemKind.BOUNDARY) / len(kinds)
    if len(set(stopped.values())) < 2:
        return _told(Result.NO_MATERIAL, "same_round")
    order = sorted(stopped, key=stopped.__getitem__)
    told = [
        in_both("protocol", "audit.stopped", alias=alias, round=stopped[alias], share=shares[alias]) for alias in order
    ]
    english, chinese = zip(*told, strict=True)
    return _result(shares[order[0]] >= shares[order[-1]]), ", ".join(english), "，".join(chinese)


def _reactivated(record: Record) -> Measured:
    outcomes = {(turn.alias, turn.round): turn.outcome for turn in record.projections}
    silent = [(alias, number) for (alias, number), outcome in outcomes.items() if outcome is Outcome.NOTHING_NEW]
    woken = [
        f"{alias} R{number}"
        for (alias, number), outcome in outcomes.items()
        if outcome is Outcome.REPLIED and any(who == alias and before < number for who, before in silent)
    ]
    if not woken:
        return _told(Result.NO_MATERIAL, "nobody_again")
    return _told(Result.HOLDS, "again", who=", ".join(woken))


def _tension_holds(record: Record) -> Measured:
    """Compare the shares of items, early and late, with a word of the tension or of the catalyst's statements."""
    if record.tension is None:
        return _told(Result.NO_MATERIAL, "no_tension")
    room = terms("\n".join(record.tension.targets().values()))
    early, late = [0, 0], [0, 0]
    for number in range(1, max((turn.round for turn in record.projections), default=0) + 1):
        stated = "\n".join(
            text for seen in record.observations if seen.round < number for text in seen.texts().values()
        )
        heard = room | terms(stated)
        for item in _said_in(record, number):
            counted = early if number == 1 else late
            counted[0] += bool(terms(item.text) & heard)
            counted[1] += 1
    if not late[1]:
        return _told(Result.NO_MATERIAL, "one_round")
    if not early[1]:
        return _told(Result.NO_MATERIAL, "silent_round")
    holds = late[0] * early[1] * 2 >= early[0] * late[1]
    return _told(_result(holds), "shared", early=early[0], of_early=early[1], late=late[0], of_late=late[1])


def _covered_in_first_round(record: Record) -> Measured:
    first = next((seen for seen in record.observations if seen.round == 1), None)
    if first is None:
        return _told(Result.NO_MATERIAL, "no_first")
    wanted = all_pairs({turn.alias for turn in record.projections if turn.round == 1 and turn.items})
    seen = {relation.between for relation in first.relations} | set(first.none)
    covered = sum(pair in seen for pair in wanted)
    result = Result.BY_CONSTRUCTION if covered == len(wanted) else Result.FALSIFIED
    return _told(result, "pairs", covered=covered, wanted=len(wanted))


def _traceable(record: Record) -> Measured:
    claims = [claim for plan in record.plans for claim in plan.claims()]
    if not claims:
        return _told(Result.NO_MATERIAL, "no_plan")
    supported, doubtful = sum(claim.supported for claim in claims), sum(bool(claim.doubt) for claim in claims)
    return _told(
        _result(supported == len(claims)), "sources", supported=supported, claims=len(claims), doubtful=doubtful
    )


def _guards(record: Record, guards: Sequence[Mapping[str, int]]) -> Measured:
    totals = Counter[str](struck_by_catalyst=sum(seen.struck for seen in record.observations))
    for counts in guards:
        totals.update(counts)
    english, chinese = [], []
    for name, count in sorted(totals.items()):
        words = in_both("protocol", f"audit.{name}") if name in _COUNTED else (name.replace("_", " "), f"`{name}`")
        english += [f"{words[0]} {count}"] * bool(count)
        chinese += [f"{words[1]} {count}"] * bool(count)
    nothing = in_both("protocol", "audit.nothing")
    return Result.HOLDS, ", ".join(english) or nothing[0], "，".join(chinese) or nothing[1]


def _said_in(record: Record, number: int) -> list[Item]:
    return [item for turn in record.projections if turn.round == number for item in turn.items]


_PROPERTIES: Final[Mapping[int, Callable[[Record], Measured]]] = {
    4: _barriers_apart,
    5: _rounds,
    6: _exhaustion_not_bandwidth,
    7: _boundary_first,
    8: _reactivated,
    11: _tension_holds,
    12: _covered_in_first_round,
    13: _traceable,
}
"""The measure of each property, by its number in specification 000. The texts of the properties are in
`tongyao/texts/console/words/audit.toml`."""
