"""The plan assembled from the record: who has what, what waits for what, what stays open. Every claim with its sources."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Final

from tongyao.llm.extractive import plan_parts, wording
from tongyao.llm.extractive.cues import offers_now
from tongyao.llm.extractive.plan_record import Record
from tongyao.llm.extractive.plan_text import PLAN
from tongyao.protocol.guards.deliveries import delivery_of_plan
from tongyao.protocol.model.plan import ClaimDraft, DeliveryDraft, PlanDraft, TaskDraft
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.requests import DeliveryRequest, PlannerRequest

TASKS_EACH: Final = 2
RESIDUALS: Final = 4


def plan(request: PlannerRequest) -> PlanDraft:
    """The tension, what is possible, roles, offsets, residual tensions, tasks and order, in the protocol's shape."""
    record = Record(request)
    words = PLAN[request.language]
    gaps, collisions = plan_parts.gaps(record), plan_parts.collisions(record)
    remarks = [wording.REMARK[request.language]]
    if not any(pair.relation.related for pair in record.pairs):
        remarks.append(wording.NO_RELATION[request.language])
    if request.proposals:
        remarks.append(words["not_taken_up"].format(aliases=", ".join(sorted(request.proposals))))
    if collisions:
        kept = min(len(collisions), max(0, RESIDUALS - len(gaps)))
        name = "some_go_on" if kept < len(collisions) else "one_goes_on" if kept == 1 else "all_go_on"
        remarks.append(words[name].format(kept=kept, offsets=len(collisions), most=RESIDUALS))
    return PlanDraft(
        about=plan_parts.about(record),
        panorama=[*plan_parts.possible(record), *plan_parts.of_children(request)],
        roles=[plan_parts.role(record, alias) for alias in record.aliases],
        offsets=plan_parts.against(record),
        residuals=[*gaps, *collisions][:RESIDUALS],
        tasks=_tasks(record),
        order=_order(record),
        remarks=remarks,
    )


def deliver(request: DeliveryRequest) -> DeliveryDraft:
    """One participant's part, taken from the plan as it stands."""
    draft = delivery_of_plan(request.plan, request.alias)
    return draft.model_copy(update={"remarks": [wording.REMARK[request.language]]})


def _tasks(record: Record) -> list[TaskDraft]:
    """The demander's own first, then what was offered, each waiting for what its owner said to need; never in a circle.

    A task is something that its owner offered and that touches a line of the tension or answers a need. Of what its owner only said
    or has, the task is to say whether they give it. Without any of them the demander alone has something to decide.
    """
    words = PLAN[record.language]
    waits = _acyclic([(one.needing, one.offering) for one in record.dependencies])
    order = _in_order(waits)
    order += [alias for alias in record.aliases if alias not in order]
    answers = {source for one in record.dependencies for source in one.pair.sources}
    chosen = [
        (alias, item)
        for alias in order
        for item in [one for one in record.gives(alias) if record.touched(one) or one.id in answers][:TASKS_EACH]
    ]
    if not chosen:
        return [TaskDraft(id="task/1", title=words["decide"], assignee=DEMANDER, sources=["T/T"])]
    tasks: list[TaskDraft] = []
    if "E" in record.tension.targets():
        exchange = wording.repeated(record.tension.exchange, record.language)
        tasks.append(
            TaskDraft(id="task/1", title=words["give"].format(said=exchange), assignee=DEMANDER, sources=["T/E"])
        )
    first: dict[str, str] = {}
    for alias, item in chosen:
        name = f"task/{len(tasks) + 1}"
        # Whoever is waited for comes earlier in this order, so every prerequisite has its number already.
        before = [first[other] for other in sorted(waits.get(alias, ())) if other in first]
        if alias in first:
            before = [first[alias]]
        first.setdefault(alias, name)
        offered = offers_now(wording.said_in(item))
        tasks.append(
            TaskDraft(
                id=name,
                title=record.said(item) if offered else words["say_whether"].format(said=record.said(item)),
                assignee=alias,
                prerequisites=before,
                sources=[item.id, *(f"T/{target}" for target in record.touched(item) if target.startswith("B"))],
                question=not offered,
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


def _order(record: Record) -> list[ClaimDraft]:
    """Who waits for each other: what the tasks' own order cannot show."""
    waits = {(one.needing, one.offering): one.pair for one in record.dependencies}
    return [
        ClaimDraft(text=PLAN[record.language]["mutual"].format(a=needing, b=offering), sources=[*pair.sources, pair.id])
        for (needing, offering), pair in waits.items()
        if needing < offering and (offering, needing) in waits
    ]
