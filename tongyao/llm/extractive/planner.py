"""The plan assembled from the record: who has what, what waits for what, what stays open. Every claim with
its sources."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.cues import Cue, cues_in
from tongyao.llm.extractive.plan_text import PLAN, delivery_markdown, plan_markdown
from tongyao.protocol.model.observation import Gap, Observation, Pair, Relation
from tongyao.protocol.model.plan import ClaimDraft, DeliveryDraft, PlanDraft, ResidualDraft, RoleDraft, TaskDraft
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import DeliveryRequest, PlannerRequest
from tongyao.protocol.model.sizes import cut

DEMANDER: Final = "P00"
TASKS_EACH: Final = 2
CLAIMS_EACH: Final = 3
RESIDUALS: Final = 4


class Record:
    """What a plan may be built from: the items and the last word on every pair, without those who
    declined.
    """

    def __init__(self, request: PlannerRequest) -> None:
        self.language = request.language
        self.tension = request.tension
        self.aliases = [alias for alias in request.aliases if alias not in request.without]
        self.items: dict[str, list[Item]] = {alias: [] for alias in self.aliases}
        for turn in request.exchange:
            for projection in turn.projections:
                if projection.alias in self.items:
                    self.items[projection.alias] += projection.items
        observations = [turn.observation for turn in request.exchange if turn.observation]
        self.last: Observation | None = observations[-1] if observations else None
        self.pairs: list[Pair] = [
            pair for pair in (self.last.pairs if self.last else ()) if pair.a in self.items and pair.b in self.items
        ]
        self._item = {item.id: item for items in self.items.values() for item in items}

    def of(self, alias: str, *dimensions: Dimension) -> list[Item]:
        return [item for item in self.items[alias] if item.dimension in dimensions]

    def offers(self, alias: str) -> list[Item]:
        return [item for item in self.of(alias, Dimension.CAPABILITY) if not needs(item)]

    def related(self, relation: Relation) -> list[Pair]:
        return [pair for pair in self.pairs if pair.relation is relation]

    def dependencies(self) -> list[tuple[str, str, Pair]]:
        """(who waits, for whom, by which pair): in a complementary pair the needing side waits for the
        offering one."""
        found = []
        for pair in self.related(Relation.COMPLEMENTARY):
            sides = [(self.owner(source), self._item[source]) for source in pair.sources if source in self._item]
            needing = next((alias for alias, item in sides if needs(item)), None)
            offering = next((alias for alias, _ in sides if alias != needing), None)
            if needing and offering:
                found.append((needing, offering, pair))
        return found

    def owner(self, item_id: str) -> str:
        return item_id.split("/")[1]

    def said_by(self, sources: Iterable[str]) -> list[str]:
        """What the items among `sources` say, each in a few words of its own."""
        said = (wording.said_in(self._item[source].claim) for source in sources if source in self._item)
        return [wording.repeated(one, self.language, 18) for one in said]

    def uncovered(self) -> list[tuple[str, Gap | None]]:
        """Barriers that no offer of those who stayed points at, with the catalyst's gap on each if it named
        one."""
        covered = {target for alias in self.aliases for item in self.offers(alias) for target in item.targets}
        gaps = {gap.target: gap for gap in (self.last.gaps if self.last else ())}
        return [
            (target, gaps.get(target))
            for target in self.tension.targets()
            if target[0] == "B" and target not in covered
        ]


def needs(item: Item) -> bool:
    return Cue.NEED in cues_in(wording.said_in(item.claim))


def plan(request: PlannerRequest) -> PlanDraft:
    """Panorama, roles, tasks, order, offsets and residual tensions, in the protocol's shape."""
    record = Record(request)
    tasks = _tasks(record)
    draft = PlanDraft(
        panorama=_panorama(record, request),
        roles=[_role(record, alias) for alias in record.aliases],
        tasks=tasks,
        order=_order(record, tasks),
        offsets=[
            ClaimDraft(text=pair.text, sources=[*pair.sources, pair.id]) for pair in record.related(Relation.OFFSETTING)
        ],
        residuals=_residuals(record),
    )
    return draft.model_copy(update={"markdown": plan_markdown(draft, request)})


def deliver(request: DeliveryRequest) -> DeliveryDraft:
    """One participant's part: role, tasks and whom they wait for, taken from the plan as it stands."""
    return DeliveryDraft(markdown=delivery_markdown(request))


def _quote(record: Record, item: Item) -> str:
    return wording.repeated(wording.said_in(item.claim), record.language)


def _panorama(record: Record, request: PlannerRequest) -> list[ClaimDraft]:
    words = PLAN[record.language]
    covered: dict[str, list[Item]] = {}
    for alias in record.aliases:
        for item in record.offers(alias):
            for target in item.targets:
                covered.setdefault(target, []).append(item)
    claims = [
        ClaimDraft(
            text=words["about"].format(t=wording.repeated(record.tension.transition, record.language)),
            sources=["T/T"],
        )
    ]
    for target, text in record.tension.targets().items():
        if target.startswith("B") and target in covered:
            who = words["and"].join(dict.fromkeys(record.owner(item.id) for item in covered[target]))
            claims.append(
                ClaimDraft(
                    text=words["faced"].format(target=target, b=wording.repeated(text, record.language), who=who),
                    sources=[item.id for item in covered[target]][:4],
                )
            )
    for child in request.children:
        first = next(iter(child.plan.panorama), None)
        if first is not None:
            claims.append(
                ClaimDraft(
                    text=words["child"].format(title=child.title, text=first.text),
                    sources=[
                        source if source.startswith(child.process) else f"{child.process}/{source}"
                        for source in first.sources
                    ],
                )
            )
    return claims


def _role(record: Record, alias: str) -> RoleDraft:
    words = PLAN[record.language]
    offers = record.offers(alias)
    targets = dict.fromkeys(target for item in offers for target in item.targets)
    wishes = [item for item in record.items[alias] if needs(item) or item.dimension is Dimension.DIRECTION]
    waiting = [(other, pair) for needing, other, pair in record.dependencies() if needing == alias]
    return RoleDraft(
        alias=alias,
        role=words["role"].format(targets=words["and"].join(targets)) if targets else words["no_role"],
        contributions=[ClaimDraft(text=_quote(record, item), sources=[item.id]) for item in offers[: CLAIMS_EACH + 1]],
        benefits=[
            ClaimDraft(text=words["sought"].format(said=_quote(record, item)), sources=[item.id])
            for item in wishes[:CLAIMS_EACH]
        ],
        costs=[
            ClaimDraft(text=words["limit"].format(said=_quote(record, item)), sources=[item.id])
            for item in record.of(alias, Dimension.BOUNDARY)[:CLAIMS_EACH]
        ],
        dependencies=[
            ClaimDraft(text=words["waits"].format(other=other, text=pair.text), sources=[*pair.sources, pair.id])
            for other, pair in waiting
        ],
    )


def _tasks(record: Record) -> list[TaskDraft]:
    """The demander's own first, then what was offered, each waiting for what its owner said to need; never in
    a circle."""
    words = PLAN[record.language]
    tasks: list[TaskDraft] = []
    first: dict[str, str] = {}
    if "E" in record.tension.targets():
        said = wording.repeated(record.tension.exchange, record.language)
        tasks.append(TaskDraft(id="task/1", title=words["give"].format(said=said), assignee=DEMANDER, sources=["T/E"]))
    waits = _acyclic([(waiting, other) for waiting, other, _ in record.dependencies()])
    order = _in_order(waits)
    order += [alias for alias in record.aliases if alias not in order]
    for alias in order:
        for item in [one for one in record.offers(alias) if any(target[0] == "B" for target in one.targets)][
            :TASKS_EACH
        ]:
            name = f"task/{len(tasks) + 1}"
            # Whoever is waited for comes earlier in this order, so every prerequisite has its number already.
            before = [first[other] for other in sorted(waits.get(alias, ())) if other in first]
            if alias in first:
                before = [first[alias]]
            first.setdefault(alias, name)
            target = next(target for target in item.targets if target[0] == "B")
            tasks.append(
                TaskDraft(
                    id=name,
                    title=_quote(record, item),
                    assignee=alias,
                    prerequisites=before,
                    sources=[item.id, f"T/{target}"],
                )
            )
    return tasks


def _acyclic(waits: list[tuple[str, str]]) -> dict[str, set[str]]:
    """For everybody who waits: those waited for. What would close a circle is left out."""
    graph: dict[str, set[str]] = {}
    for waiting, other in waits:
        before = graph.setdefault(waiting, set()) | {other}
        try:
            TopologicalSorter({**graph, waiting: before}).prepare()
        except CycleError:
            continue
        graph[waiting] = before
    return graph


def _in_order(waits: dict[str, set[str]]) -> list[str]:
    """Nobody before those they wait for; of several who could come next, the first by name."""
    sorter = TopologicalSorter(waits)
    sorter.prepare()
    ready, order = list(sorter.get_ready()), list[str]()
    while ready:
        ready.sort()
        order.append(ready.pop(0))
        sorter.done(order[-1])
        ready += sorter.get_ready()
    return order


def _order(record: Record, tasks: list[TaskDraft]) -> list[ClaimDraft]:
    words = PLAN[record.language]
    claims = [
        ClaimDraft(
            text=words["after"].format(task=task.id, before=words["and"].join(task.prerequisites)),
            sources=task.sources,
        )
        for task in tasks
        if task.prerequisites
    ]
    for one, other, pair in record.dependencies():
        if any(back == one and forth == other for forth, back, _ in record.dependencies()):
            claims.append(ClaimDraft(text=words["mutual"].format(a=one, b=other), sources=[*pair.sources, pair.id]))
    return claims


def _residuals(record: Record) -> list[ResidualDraft]:
    """One per barrier left uncovered, then one per offset, each a tension of its own within the limit."""
    words, tension = PLAN[record.language], record.tension
    state = "" if "I" not in tension.targets() else cut(tension.initial_state, 90)
    exchange = "" if "E" not in tension.targets() else cut(tension.exchange, 60)
    found = []
    for target, gap in record.uncovered():
        barrier = tension.targets()[target]
        found.append(
            ResidualDraft(
                title=words["residual"].format(target=target, said=wording.excerpt(barrier, 20)),
                transition=words["remove"].format(said=cut(barrier, 40)),
                initial_state=state,
                barriers=[cut(barrier, 60)],
                exchange=exchange,
                sources=[f"T/{target}", *([gap.id] if gap else [])],
            )
        )
    for pair in record.related(Relation.OFFSETTING):
        found.append(
            ResidualDraft(
                title=words["offset"].format(a=pair.a, b=pair.b),
                transition=words["hold_both"].format(both=words["and"].join(record.said_by(pair.sources))),
                initial_state=state,
                barriers=[cut(pair.text, 90)],
                exchange=exchange,
                sources=[*pair.sources, pair.id],
            )
        )
    return found[:RESIDUALS]
