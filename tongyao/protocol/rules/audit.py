"""The 13 measured properties of the protocol, each held against one record (docs/protocol.md §13). Pure.

Each has a falsifier: what would refute it. Where one record is enough, the finding carries a figure and says whether the
falsifier struck. Where it is not, the finding says which command measures it. Nothing passes silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.observation import Observation, Relation, all_pairs
from tongyao.protocol.model.projection import Dimension, Outcome, Projection
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value


class Result(StrEnum):
    HOLDS = "holds"
    FALSIFIED = "falsified"
    SEVERAL_RUNS = "needs several runs"
    NO_MATERIAL = "no material"


class Finding(Value):
    """One property held against one record. `figure`: what was counted, `figure_zh` in Chinese; `falsifier`: what would refute the claim."""

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
_NO_OTHER_RUN: Final = ("`tongyao eval --json` gives it for every case", "`tongyao eval --json` 会给出每个案例的结果")

_COUNTED: Final = {
    "reasked": ("sent back", "退回"),
    "repeated": ("repeated", "重复"),
    "struck": ("struck", "删去"),
    "struck_by_catalyst": ("struck by the catalyst's guard", "催化者的守护删去"),
}
"""Counts of the guards in words. The reason for which a call failed keeps its name."""


def audit(record: Record, *, guards: Sequence[Mapping[str, int]] = ()) -> tuple[Finding, ...]:
    """All 13 findings in order, then one of traceability and one of the guards' work (numbers 14, 15)."""
    findings = [
        Finding(number=number, claim=claim, falsifier=falsifier, result=result, figure=figure, figure_zh=figure_zh)
        for number, (claim, falsifier, measure) in enumerate(_PROPERTIES, 1)
        for result, figure, figure_zh in [measure(record)]
    ]
    return (*findings, _evidence(record), _guards(record, guards))


def _several(command: str, means: str, means_zh: str) -> Measure:
    return lambda record: (Result.SEVERAL_RUNS, f"`{command}`: {means}", f"`{command}`：{means_zh}")


def _alignment_lasts(record: Record) -> Measured:
    first = [item for said in record.projections for item in said.items if said.round == 1]
    late = [item for said in record.projections for item in said.items if said.round > 1]
    if not late:
        return _ONE_ROUND
    aimed = sum(bool(item.targets) for item in late)
    early = sum(bool(item.targets) for item in first)
    return (
        Result.HOLDS if aimed * 4 >= len(late) * 3 else Result.FALSIFIED,
        f"{aimed} of {len(late)} late items name what they answer to, {early} of {len(first)} in the first round",
        f"后面各轮 {len(late)} 条里有 {aimed} 条写明回应什么；第一轮 {len(first)} 条里有 {early} 条",
    )


def _tension_holds(record: Record) -> Measured:
    """By words: what share of the items says anything in the words of the tension or of the catalyst, early and late."""
    if record.tension is None:
        return Result.NO_MATERIAL, "there is no tension", "没有张力"
    room = terms("\n".join(record.tension.targets().values()))
    early, late = [0, 0], [0, 0]
    for number in range(1, max((said.round for said in record.projections), default=0) + 1):
        heard = terms("\n".join(_words(seen) for seen in record.observations if seen.round < number))
        for item in (item for said in record.projections if said.round == number for item in said.items):
            counted = early if number == 1 else late
            counted[0] += bool(terms(item.statement) & (room | heard))
            counted[1] += 1
    if not late[1]:
        return _ONE_ROUND
    if not early[1]:
        return Result.NO_MATERIAL, "nobody said anything in the first round", "第一轮没有人说话"
    return (
        Result.HOLDS if late[0] * early[1] * 2 >= early[0] * late[1] else Result.FALSIFIED,
        f"{early[0]} of {early[1]} items of round 1 and {late[0]} of {late[1]} later ones share words with the matter",
        f"和这件事有共同用词的：第 1 轮 {early[1]} 条里有 {early[0]} 条，后面各轮 {late[1]} 条里有 {late[0]} 条",
    )


def _words(seen: Observation) -> str:
    told = [pair.whole_text for pair in seen.pairs] + [gap.text for gap in seen.gaps]
    return "\n".join((*told, *(f"{note.name} {note.text}" for note in (*seen.frameworks, *seen.ignored))))


def _selective_attention(record: Record) -> Measured:
    pairs = [pair for seen in record.observations for pair in seen.pairs]
    if not pairs:
        return Result.NO_MATERIAL, "no pair was observed", "没有观察过任何一对"
    related = [len(pair.text) for pair in pairs if pair.relation.related]
    empty = [len(pair.text) for pair in pairs if pair.relation is Relation.NONE_FOUND]
    unseen = sum(pair.relation is Relation.NOT_EXAMINED for pair in pairs)
    mean = (sum(related) / len(related) if related else 0.0, sum(empty) / len(empty) if empty else 0.0)
    figure = (
        f"{mean[0]:.0f} characters a related pair, {mean[1]:.0f} an unrelated one, {unseen} not examined",
        f"有关系的一对平均 {mean[0]:.0f} 字，没有关系的 {mean[1]:.0f} 字，没看的 {unseen} 对",
    )
    if not related or not empty:
        return (Result.FALSIFIED if unseen else Result.NO_MATERIAL), *figure
    return (Result.HOLDS if not unseen and mean[0] > mean[1] else Result.FALSIFIED), *figure


def _barriers_apart(record: Record) -> Measured:
    items = [item for said in record.projections for item in said.items]
    on_barriers = [[t for t in item.targets if t.startswith("B")] for item in items]
    aimed = [targets for targets in on_barriers if targets]
    if record.tension is None or len(record.tension.barriers) < 2 or not aimed:
        return Result.NO_MATERIAL, "fewer than two barriers, or no item on any", "阻碍不到两个，或者没有一条谈到阻碍"
    merged = sum(len(targets) > 1 for targets in aimed)
    return (
        Result.HOLDS if merged * 4 <= len(aimed) else Result.FALSIFIED,
        f"{merged} of {len(aimed)} items on barriers treat several at once",
        f"谈阻碍的 {len(aimed)} 条里，有 {merged} 条一次谈了几个",
    )


def _rounds(record: Record) -> Measured:
    if not record.observations:
        return Result.NO_MATERIAL, "no round was observed", "没有观察过任何一轮"
    count = record.observations[-1].round
    open_points = bool(record.plans and record.plans[0].open_points)
    return (
        Result.FALSIFIED if open_points and count >= 7 else Result.HOLDS,
        f"{count} rounds (five in the measured runs)",
        f"{count} 轮（实测的几次是五轮）",
    )


def _exhaustion_not_bandwidth(record: Record) -> Measured:
    if len(record.observations) < 3:
        return Result.NO_MATERIAL, "fewer than three rounds", "不到三轮"
    items = _per_round(record, lambda said: len(said.items))
    found = [sum(pair.relation.related for pair in seen.pairs) for seen in record.observations]
    return (
        Result.HOLDS if items[-1] <= items[0] else Result.FALSIFIED,
        f"items by round {items}, relations by round {found}",
        f"各轮的条数 {items}，各轮的关系数 {found}",
    )


def _boundary_first(record: Record) -> Measured:
    stopped: dict[str, int] = {}
    shares: dict[str, float] = {}
    for alias in record.contributors():
        mine = [said for said in record.projections if said.alias == alias]
        stopped[alias] = max((said.round for said in mine if said.items), default=0)
        items = [item for said in mine for item in said.items]
        shares[alias] = sum(item.dimension is Dimension.BOUNDARY for item in items) / len(items)
    if len(set(stopped.values())) < 2:
        return (
            Result.SEVERAL_RUNS,
            f"all stopped in the same round; {_NO_OTHER_RUN[0]}",
            f"所有人在同一轮说完；{_NO_OTHER_RUN[1]}",
        )
    order = sorted(stopped, key=stopped.__getitem__)
    return (
        Result.HOLDS if shares[order[0]] >= shares[max(stopped, key=stopped.__getitem__)] else Result.FALSIFIED,
        ", ".join(f"{alias} R{stopped[alias]} ({shares[alias]:.0%} boundary)" for alias in order),
        "，".join(f"{alias} R{stopped[alias]}（边界占 {shares[alias]:.0%}）" for alias in order),
    )


def _reactivated(record: Record) -> Measured:
    woken = [
        f"{later.alias} R{later.round}"
        for later in record.projections
        if later.outcome is Outcome.REPLIED
        and any(
            said.alias == later.alias and said.round == later.round - 1 and said.outcome is Outcome.NOTHING_NEW
            for said in record.projections
        )
    ]
    if woken:
        again = ", ".join(woken)
        return Result.HOLDS, f"spoke again after nothing new: {again}", f"说过没有新的，后来又开口：{again}"
    return (
        Result.SEVERAL_RUNS,
        f"nobody spoke again in this run; {_NO_OTHER_RUN[0]}",
        f"这一次没有人重新开口；{_NO_OTHER_RUN[1]}",
    )


def _gaps_not_pressed(record: Record) -> Measured:
    kinds = [gap.kind.value for seen in record.observations for gap in seen.gaps]
    if not kinds:
        return Result.NO_MATERIAL, "no gap was named", "没有指出任何缺口"
    overlooked, absent = kinds.count("overlooked"), kinds.count("absent")
    return (
        Result.HOLDS if all(said.struck == 0 for said in record.projections) else Result.FALSIFIED,
        f"{overlooked} overlooked, {absent} absent",
        f"没看到的 {overlooked} 处，没有的 {absent} 处",
    )


def _covered_in_first_round(record: Record) -> Measured:
    first = next((seen for seen in record.observations if seen.round == 1), None)
    if first is None:
        return Result.NO_MATERIAL, "there is no first observation", "没有第一轮的观察"
    wanted = all_pairs({said.alias for said in record.projections if said.round == 1 and said.items})
    seen = {(pair.a, pair.b) for pair in first.pairs if pair.relation is not Relation.NOT_EXAMINED}
    covered = sum(pair in seen for pair in wanted)
    return (
        Result.HOLDS if covered == len(wanted) else Result.FALSIFIED,
        f"{covered} of {len(wanted)} pairs in round 1",
        f"第 1 轮看了 {len(wanted)} 对里的 {covered} 对",
    )


def _traceable(record: Record) -> Measured:
    claims = [claim for plan in record.plans for claim in plan.claims()]
    if not claims:
        return Result.NO_MATERIAL, "there is no plan", "没有方案"
    supported, doubtful = sum(claim.supported for claim in claims), sum(bool(claim.doubt) for claim in claims)
    return (
        Result.HOLDS if supported == len(claims) else Result.FALSIFIED,
        f"{supported} of {len(claims)} claims have a source, {doubtful} of them doubtful",
        f"{len(claims)} 句里有 {supported} 句有出处，其中 {doubtful} 句存疑",
    )


def _evidence(record: Record) -> Finding:
    items = [item for said in record.projections for item in said.items]
    facts = [item for item in items if not item.inferred]
    spans = sum(bool(item.spans) for item in facts)
    return Finding(
        number=14,
        claim="no invention: facts carry spans",
        falsifier="a fact in the record without a verbatim span",
        result=Result.NO_MATERIAL if not items else Result.HOLDS if spans == len(facts) else Result.FALSIFIED,
        figure=f"{spans} of {len(facts)} facts with spans, {len(items) - len(facts)} inferences",
        figure_zh=f"{len(facts)} 个事实里有 {spans} 个带原文，另有 {len(items) - len(facts)} 条推断",
    )


def _guards(record: Record, guards: Sequence[Mapping[str, int]]) -> Finding:
    totals: dict[str, int] = {}
    for counts in guards:
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    totals["struck_by_catalyst"] = sum(seen.struck for seen in record.observations)
    counted = [
        (*_COUNTED.get(name, (name.replace("_", " "), name)), count) for name, count in sorted(totals.items()) if count
    ]
    return Finding(
        number=15,
        claim="guards: what was sent back or struck",
        falsifier="none; a count",
        result=Result.HOLDS,
        figure=", ".join(f"{name} {count}" for name, _, count in counted) or "nothing",
        figure_zh="，".join(f"{name} {count}" for _, name, count in counted) or "没有",
    )


def _per_round(record: Record, count: Callable[[Projection], int]) -> list[int]:
    last = max((said.round for said in record.projections), default=0)
    return [sum(count(said) for said in record.projections if said.round == n) for n in range(1, last + 1)]


_PROPERTIES: Final[tuple[tuple[str, str, Measure], ...]] = (
    (
        "a projection depends on the tension",
        "one profile says the same to any tension",
        _several(
            "tongyao eval --swap", "the same people before another case's tension", "同样的人，面对另一个案例的张力"
        ),
    ),
    (
        "alignment with the lenses lasts over rounds",
        "late items no longer name what they answer to",
        _alignment_lasts,
    ),
    ("attention is selective by itself", "a pair is skipped, or all pairs are treated alike", _selective_attention),
    ("barriers stay apart", "late items treat several barriers as one", _barriers_apart),
    ("five rounds suffice", "seven rounds without convergence", _rounds),
    ("rounds end because the data is used up", "new items do not decrease towards the end", _exhaustion_not_bandwidth),
    ("the honest about boundaries finish first", "who names boundaries goes on longest", _boundary_first),
    ("a framework wakes those who had finished", "no buffer round ever wakes anybody", _reactivated),
    (
        "neighbours in a field do not pull each other",
        "an endpoint drifts to another's domain",
        _several("tongyao eval --without NAME", "the same people with one less", "同样的人，少一个"),
    ),
    (
        "the catalyst tells overlooked from absent",
        "it presses on an absent thing until somebody invents it",
        _gaps_not_pressed,
    ),
    (
        "the tension holds an endpoint over rounds",
        "late items drift to the profile's most striking matter",
        _tension_holds,
    ),
    ("all pairs are covered in the first round", "a pair missing in round 1", _covered_in_first_round),
    ("every claim of the plan can be traced", "a claim without a source", _traceable),
)
