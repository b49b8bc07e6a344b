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
    """One property held against one record. `figure`: what was counted; `falsifier`: what would refute the claim."""

    number: int
    claim: str
    falsifier: str
    result: Result
    figure: str


Measure = Callable[[Record], tuple[Result, str]]


def audit(record: Record, *, guards: Sequence[Mapping[str, int]] = ()) -> tuple[Finding, ...]:
    """All 13 findings in order, then one of traceability and one of the guards' work (numbers 14, 15)."""
    findings = [
        Finding(number=number, claim=claim, falsifier=falsifier, result=result, figure=figure)
        for number, (claim, falsifier, measure) in enumerate(_PROPERTIES, 1)
        for result, figure in [measure(record)]
    ]
    return (*findings, _evidence(record), _guards(record, guards))


def _several(command: str) -> Measure:
    return lambda record: (Result.SEVERAL_RUNS, command)


def _alignment_lasts(record: Record) -> tuple[Result, str]:
    first = [item for said in record.projections for item in said.items if said.round == 1]
    late = [item for said in record.projections for item in said.items if said.round > 1]
    if not late:
        return Result.NO_MATERIAL, "nobody said anything after the first round"
    aimed = sum(bool(item.targets) for item in late)
    figure = f"{aimed} of {len(late)} late items name what they answer to, {sum(bool(i.targets) for i in first)} of "
    figure += f"{len(first)} in the first round"
    return (Result.HOLDS if aimed * 4 >= len(late) * 3 else Result.FALSIFIED), figure


def _tension_holds(record: Record) -> tuple[Result, str]:
    """By words: what share of the items says anything in the words of the tension or of the catalyst, early and late."""
    if record.tension is None:
        return Result.NO_MATERIAL, "there is no tension"
    room = terms("\n".join(record.tension.targets().values()))
    early, late = [0, 0], [0, 0]
    for number in range(1, max((said.round for said in record.projections), default=0) + 1):
        heard = terms("\n".join(_words(seen) for seen in record.observations if seen.round < number))
        for item in (item for said in record.projections if said.round == number for item in said.items):
            counted = early if number == 1 else late
            counted[0] += bool(terms(item.statement) & (room | heard))
            counted[1] += 1
    if not late[1] or not early[1]:
        return Result.NO_MATERIAL, "nobody said anything after the first round"
    figure = (
        f"{early[0]} of {early[1]} items of round 1 and {late[0]} of {late[1]} later ones share words with the matter"
    )
    return (Result.HOLDS if late[0] * early[1] * 2 >= early[0] * late[1] else Result.FALSIFIED), figure


def _words(seen: Observation) -> str:
    told = [pair.whole_text for pair in seen.pairs] + [gap.text for gap in seen.gaps]
    return "\n".join((*told, *(f"{note.name} {note.text}" for note in (*seen.frameworks, *seen.ignored))))


def _selective_attention(record: Record) -> tuple[Result, str]:
    pairs = [pair for seen in record.observations for pair in seen.pairs]
    if not pairs:
        return Result.NO_MATERIAL, "no pair was observed"
    related = [len(pair.text) for pair in pairs if pair.relation.related]
    empty = [len(pair.text) for pair in pairs if pair.relation is Relation.NONE_FOUND]
    unseen = sum(pair.relation is Relation.NOT_EXAMINED for pair in pairs)
    mean = (sum(related) / len(related) if related else 0.0, sum(empty) / len(empty) if empty else 0.0)
    figure = f"{mean[0]:.0f} characters a related pair, {mean[1]:.0f} an unrelated one, {unseen} not examined"
    if not related or not empty:
        return (Result.FALSIFIED if unseen else Result.NO_MATERIAL), figure
    return (Result.HOLDS if not unseen and mean[0] > mean[1] else Result.FALSIFIED), figure


def _barriers_apart(record: Record) -> tuple[Result, str]:
    items = [item for said in record.projections for item in said.items]
    on_barriers = [[t for t in item.targets if t.startswith("B")] for item in items]
    aimed = [targets for targets in on_barriers if targets]
    if record.tension is None or len(record.tension.barriers) < 2 or not aimed:
        return Result.NO_MATERIAL, "fewer than two barriers, or no item on any"
    merged = sum(len(targets) > 1 for targets in aimed)
    figure = f"{merged} of {len(aimed)} items on barriers treat several at once"
    return (Result.HOLDS if merged * 4 <= len(aimed) else Result.FALSIFIED), figure


def _rounds(record: Record) -> tuple[Result, str]:
    if not record.observations:
        return Result.NO_MATERIAL, "no round was observed"
    count = record.observations[-1].round
    open_points = bool(record.plans and record.plans[0].open_points)
    return (
        Result.FALSIFIED if open_points and count >= 7 else Result.HOLDS
    ), f"{count} rounds (five in the measured runs)"


def _exhaustion_not_bandwidth(record: Record) -> tuple[Result, str]:
    if len(record.observations) < 3:
        return Result.NO_MATERIAL, "fewer than three rounds"
    items = _per_round(record, lambda said: len(said.items))
    found = [sum(pair.relation.related for pair in seen.pairs) for seen in record.observations]
    figure = f"items by round {items}, relations by round {found}"
    return (Result.HOLDS if items[-1] <= items[0] else Result.FALSIFIED), figure


def _boundary_first(record: Record) -> tuple[Result, str]:
    stopped: dict[str, int] = {}
    shares: dict[str, float] = {}
    for alias in record.contributors():
        mine = [said for said in record.projections if said.alias == alias]
        stopped[alias] = max((said.round for said in mine if said.items), default=0)
        items = [item for said in mine for item in said.items]
        shares[alias] = sum(item.dimension is Dimension.BOUNDARY for item in items) / len(items)
    if len(set(stopped.values())) < 2:
        return Result.SEVERAL_RUNS, "all stopped in the same round; `tongyao eval --json` gives it for every case"
    order = ", ".join(f"{a} R{stopped[a]} ({shares[a]:.0%} boundary)" for a in sorted(stopped, key=stopped.__getitem__))
    early, late = min(stopped, key=stopped.__getitem__), max(stopped, key=stopped.__getitem__)
    return (Result.HOLDS if shares[early] >= shares[late] else Result.FALSIFIED), order


def _reactivated(record: Record) -> tuple[Result, str]:
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
        return Result.HOLDS, f"spoke again after nothing new: {', '.join(woken)}"
    return Result.SEVERAL_RUNS, "nobody spoke again in this run; `tongyao eval --json` gives it for every case"


def _gaps_not_pressed(record: Record) -> tuple[Result, str]:
    kinds = [gap.kind.value for seen in record.observations for gap in seen.gaps]
    if not kinds:
        return Result.NO_MATERIAL, "no gap was named"
    figure = f"{kinds.count('overlooked')} overlooked, {kinds.count('absent')} absent"
    return Result.HOLDS if all(said.struck == 0 for said in record.projections) else Result.FALSIFIED, figure


def _covered_in_first_round(record: Record) -> tuple[Result, str]:
    first = next((seen for seen in record.observations if seen.round == 1), None)
    if first is None:
        return Result.NO_MATERIAL, "there is no first observation"
    wanted = all_pairs({said.alias for said in record.projections if said.round == 1 and said.items})
    seen = {(pair.a, pair.b) for pair in first.pairs if pair.relation is not Relation.NOT_EXAMINED}
    covered = sum(pair in seen for pair in wanted)
    return (
        Result.HOLDS if covered == len(wanted) else Result.FALSIFIED
    ), f"{covered} of {len(wanted)} pairs in round 1"


def _traceable(record: Record) -> tuple[Result, str]:
    claims = [claim for plan in record.plans for claim in plan.claims()]
    if not claims:
        return Result.NO_MATERIAL, "there is no plan"
    supported, doubtful = sum(claim.supported for claim in claims), sum(bool(claim.doubt) for claim in claims)
    figure = f"{supported} of {len(claims)} claims have a source, {doubtful} of them doubtful"
    return (Result.HOLDS if supported == len(claims) else Result.FALSIFIED), figure


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
    )


def _guards(record: Record, guards: Sequence[Mapping[str, int]]) -> Finding:
    totals: dict[str, int] = {}
    for counts in guards:
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    totals["struck by the catalyst's guard"] = sum(seen.struck for seen in record.observations)
    shown = (
        ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(totals.items()) if count) or "nothing"
    )
    return Finding(
        number=15,
        claim="guards: what was sent back or struck",
        falsifier="none; a count",
        result=Result.HOLDS,
        figure=shown,
    )


def _per_round(record: Record, count: Callable[[Projection], int]) -> list[int]:
    last = max((said.round for said in record.projections), default=0)
    return [sum(count(said) for said in record.projections if said.round == n) for n in range(1, last + 1)]


_PROPERTIES: Final[tuple[tuple[str, str, Measure], ...]] = (
    (
        "a projection depends on the tension",
        "one profile says the same to any tension",
        _several("`tongyao eval --swap`: the same people before another case's tension"),
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
        _several("`tongyao eval --without NAME`: the same people with one less"),
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
