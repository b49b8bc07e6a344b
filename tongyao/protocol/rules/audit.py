"""The measured properties of the protocol that one record can show or refute (docs/protocol.md §13). Pure.

The numbers are those of seed 000. Properties that need several runs, or that hold by construction, are not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.ids import all_pairs
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.projection import Item, ItemKind, Outcome
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.settings import MAX_ROUNDS
from tongyao.protocol.model.value import Value


class Result(StrEnum):
    HOLDS = "holds"
    FALSIFIED = "falsified"
    BY_CONSTRUCTION = "true by construction"
    """Code sees to it: that it holds says nothing of the models."""
    NO_MATERIAL = "no material"


class Finding(Value):
    """One property held against one record. `figure`: the count, `figure_zh` in Chinese; `falsifier`: an observation that would refute it."""

    number: int
    claim: str
    falsifier: str
    result: Result
    figure: str
    figure_zh: str


Measured = tuple[Result, str, str]
"""The result, and the figure in English and in Chinese."""

Measure = Callable[[Record], Measured]

_ONE_ROUND: Final = (Result.NO_MATERIAL, "nobody said anything after the first round", "第一轮之后没有人说话")

_COUNTED: Final = {
    "reasked": ("sent back", "退回"),
    "struck": ("struck", "删去"),
    "struck_by_catalyst": ("struck from the observations", "观察里删去"),
}
"""Counts of the checks in words. The reason of a complaint or of a failed call keeps its name."""


def audit(record: Record, *, guards: Sequence[Mapping[str, int]] = ()) -> tuple[Finding, ...]:
    """One finding for each property in order, then the counts of the checks (number 15)."""
    findings = [
        Finding(number=number, claim=claim, falsifier=falsifier, result=result, figure=figure, figure_zh=figure_zh)
        for number, claim, falsifier, measure in _PROPERTIES
        for result, figure, figure_zh in [measure(record)]
    ]
    return (*findings, _guards(record, guards))


def ended_by_itself(record: Record) -> bool:
    """Whether the rounds ended because nothing new came: the last verdict, or everybody's last turn, says so."""
    if not record.observations:
        return False
    last = record.observations[-1]
    turns = [said.outcome for said in record.projections if said.round == last.round and said.outcome != Outcome.LEFT]
    return last.verdict is Verdict.EXHAUSTED or (bool(turns) and set(turns) == {Outcome.NOTHING_NEW})


def _result(holds: bool) -> Result:
    return Result.HOLDS if holds else Result.FALSIFIED


def _barriers_apart(record: Record) -> Measured:
    on_barriers = [[line for line in item.about if line.startswith("B")] for item in record.items()]
    aimed = [lines for lines in on_barriers if lines]
    if record.tension is None or len(record.tension.barriers) < 2 or not aimed:
        return Result.NO_MATERIAL, "fewer than two barriers, or no item on any", "阻碍不到两个，或者没有一条谈到阻碍"
    merged = sum(len(lines) > 1 for lines in aimed)
    return (
        _result(merged * 4 <= len(aimed)),
        f"{merged} of {len(aimed)} items on barriers treat several at once",
        f"谈阻碍的 {len(aimed)} 条里，有 {merged} 条一次谈了几个",
    )


def _rounds(record: Record) -> Measured:
    if not record.observations:
        return Result.NO_MATERIAL, "no round was observed", "没有观察过任何一轮"
    count = record.observations[-1].round
    return (
        _result(count < MAX_ROUNDS or ended_by_itself(record)),
        f"{count} rounds (five in the measured runs)",
        f"{count} 轮（实测的几次是五轮）",
    )


def _exhaustion_not_bandwidth(record: Record) -> Measured:
    """From the second round on: in the first one more items are allowed, so that a fall after it is made by code."""
    if len(record.observations) < 3:
        return Result.NO_MATERIAL, "fewer than three rounds", "不到三轮"
    items = [len(_said_in(record, seen.round)) for seen in record.observations]
    relations = [len(seen.relations) for seen in record.observations]
    return (
        _result(items[-1] <= items[1]),
        f"items by round {items}, new relations by round {relations}",
        f"各轮的条数 {items}，各轮新写的关系数 {relations}",
    )


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
        return Result.NO_MATERIAL, "all stopped in the same round", "所有人在同一轮说完"
    order = sorted(stopped, key=stopped.__getitem__)
    return (
        _result(shares[order[0]] >= shares[order[-1]]),
        ", ".join(f"{alias} R{stopped[alias]} ({shares[alias]:.0%} boundary)" for alias in order),
        "，".join(f"{alias} R{stopped[alias]}（边界占 {shares[alias]:.0%}）" for alias in order),
    )


def _reactivated(record: Record) -> Measured:
    outcomes = {(turn.alias, turn.round): turn.outcome for turn in record.projections}
    silent = [(alias, number) for (alias, number), outcome in outcomes.items() if outcome is Outcome.NOTHING_NEW]
    woken = [
        f"{alias} R{number}"
        for (alias, number), outcome in outcomes.items()
        if outcome is Outcome.REPLIED and any(who == alias and before < number for who, before in silent)
    ]
    if not woken:
        return Result.NO_MATERIAL, "nobody spoke again in this run", "这一次没有人重新开口"
    again = ", ".join(woken)
    return Result.HOLDS, f"spoke again after nothing new: {again}", f"说过没有新的，后来又开口：{again}"


def _tension_holds(record: Record) -> Measured:
    """By words: the share of items that have a word in common with the tension or the host's statements, early and late."""
    if record.tension is None:
        return Result.NO_MATERIAL, "there is no tension", "没有张力"
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
        return _ONE_ROUND
    if not early[1]:
        return Result.NO_MATERIAL, "nobody said anything in the first round", "第一轮没有人说话"
    return (
        _result(late[0] * early[1] * 2 >= early[0] * late[1]),
        f"{early[0]} of {early[1]} items of round 1 and {late[0]} of {late[1]} later ones share words with the matter",
        f"和这件事有共同用词的：第 1 轮 {early[1]} 条里有 {early[0]} 条，后面各轮 {late[1]} 条里有 {late[0]} 条",
    )


def _covered_in_first_round(record: Record) -> Measured:
    first = next((seen for seen in record.observations if seen.round == 1), None)
    if first is None:
        return Result.NO_MATERIAL, "there is no first observation", "没有第一轮的观察"
    wanted = all_pairs({turn.alias for turn in record.projections if turn.round == 1 and turn.items})
    seen = {relation.between for relation in first.relations} | set(first.none)
    covered = sum(pair in seen for pair in wanted)
    return (
        Result.BY_CONSTRUCTION if covered == len(wanted) else Result.FALSIFIED,
        f"{covered} of {len(wanted)} pairs in round 1",
        f"第 1 轮看了 {len(wanted)} 对里的 {covered} 对",
    )


def _traceable(record: Record) -> Measured:
    claims = [claim for plan in record.plans for claim in plan.claims()]
    if not claims:
        return Result.NO_MATERIAL, "there is no plan", "没有方案"
    supported, doubtful = sum(claim.supported for claim in claims), sum(bool(claim.doubt) for claim in claims)
    return (
        _result(supported == len(claims)),
        f"{supported} of {len(claims)} claims have a source, {doubtful} of them doubtful",
        f"{len(claims)} 句里有 {supported} 句有出处，其中 {doubtful} 句存疑",
    )


def _guards(record: Record, guards: Sequence[Mapping[str, int]]) -> Finding:
    totals: dict[str, int] = {}
    for counts in guards:
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    totals["struck_by_catalyst"] = sum(seen.struck for seen in record.observations)
    counted = [
        (*_COUNTED.get(name, (name.replace("_", " "), f"`{name}`")), count)
        for name, count in sorted(totals.items())
        if count
    ]
    return Finding(
        number=15,
        claim="checks: what was sent back or struck",
        falsifier="none; a count",
        result=Result.HOLDS,
        figure=", ".join(f"{name} {count}" for name, _, count in counted) or "nothing",
        figure_zh="，".join(f"{name} {count}" for _, name, count in counted) or "没有",
    )


def _said_in(record: Record, number: int) -> list[Item]:
    return [item for turn in record.projections if turn.round == number for item in turn.items]


_PROPERTIES: Final[tuple[tuple[int, str, str, Measure], ...]] = (
    (4, "barriers stay apart", "items treat several barriers as one", _barriers_apart),
    (5, "five rounds suffice", "seven rounds without convergence", _rounds),
    (
        6,
        "rounds end because the data is used up",
        "new items do not decrease towards the end",
        _exhaustion_not_bandwidth,
    ),
    (7, "the honest about boundaries finish first", "somebody who names boundaries goes on longest", _boundary_first),
    (8, "a framework wakes those who had finished", "no buffer round ever wakes anybody", _reactivated),
    (
        11,
        "the tension holds an endpoint over rounds",
        "late items drift to the profile's most striking matter",
        _tension_holds,
    ),
    (12, "all pairs are covered in the first round", "a pair missing in round 1", _covered_in_first_round),
    (13, "every claim of the plan can be traced", "a claim without a source", _traceable),
)
