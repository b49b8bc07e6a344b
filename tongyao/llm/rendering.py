"""Requests → the text a model reads (docs/models.md, what a model is given).

Two rules shape it. What people, profiles and models wrote stands inside `<data …>` elements, which no text
inside can close. And what does not change from round to round comes first, in blocks whose bytes never
change again, so that round n+1 reads from the cache what round n wrote: `Block.cache` marks where a prefix
ends that will be read again. The blocks hold no instructions: those are in `prompts/`, so that they exist in
one place per language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tongyao.protocol.model.observation import Basis, Note, Observation, Pair, round_of
from tongyao.protocol.model.plan import Claim, Plan
from tongyao.protocol.model.projection import Item, Projection
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Mandate,
    Material,
    PlannerRequest,
    Request,
)
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.unicode_text import folded
from tongyao.protocol.rules.catalyst_task import CatalystTask, catalyst_task
from tongyao.protocol.rules.relations import observations_of, standing

_FORGED = re.compile(
    r"(?:<|&lt;?|&#0{0,5}60;?|&#x0{0,5}3c;?|\\u003c|\\x3c)(?=[\W_]{0,20}(?:d\W{0,3}a\W{0,3}t\W{0,3}a|t\W{0,3}a\W{0,3}s\W{0,3}k))"
)
"""One of our own tags in folded text (`unicode_text.folded`): no width, case, accent or invisible character disguises it."""


@dataclass(frozen=True)
class Block:
    """A piece of the user's message. `cache`: the prompt up to here will be read again by a later call."""

    text: str
    cache: bool = False


def data(kind: str, text: str, **attributes: object) -> str:
    """`text` inside a `<data>` element. What looks like one of our own tags loses its angle bracket, so it cannot close it."""
    named = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<data kind="{kind}"{named}>\n{_unforged(text)}\n</data>'


def _unforged(text: str) -> str:
    form = folded(text)
    parts, at = [], 0
    for start, end in form.spans([found.span() for found in _FORGED.finditer(form.text)]):
        parts += [text[at:start], "‹"]
        at = end
    return "".join([*parts, text[at:]])


def line(text: str) -> str:
    """`text` on one line: an id counts only at the start of a line, and no claim may begin one."""
    return " ".join(bare for part in text.splitlines() if (bare := part.strip()))


def blocks(request: Request) -> tuple[Block, ...]:
    """The user's message for the request of any step. Raises `TypeError` for anything else."""
    match request:
        case FormulationRequest():
            return formulation(request)
        case EndpointRequest():
            return endpoint(request)
        case CatalystRequest():
            return catalyst(request)
        case PlannerRequest():
            return planner(request)
        case DeliveryRequest():
            return delivery(request)
    raise TypeError(f"no step has a request of type {type(request).__name__}")


def formulation(request: FormulationRequest) -> tuple[Block, ...]:
    blocks = [Block(_profile(request.material, "P00"))] if request.material else []
    intent = data("intent", request.intent, by="P00")
    return (*blocks, Block(f'{intent}\n\n<task step="formulate" />'))


def endpoint(request: EndpointRequest) -> tuple[Block, ...]:
    """Profile, tension, then one block per past round; the turn itself, which no later call reads, at the
    end.
    """
    alias = request.alias
    source = () if request.words is not None else (Block(_profile(request.material, alias), cache=True),)
    own = {turn.round: turn for turn in request.own}
    seen = {observation.round: observation for observation in request.observations}
    rounds = sorted(own.keys() | seen.keys())
    past = [
        Block(
            "\n\n".join(
                (
                    *([_projection(own[number])] if number in own else []),
                    *([_observation(seen[number])] if number in seen else []),
                )
            )
        )
        for number in rounds
    ]
    kind = "sort" if request.words is not None else "first" if not own else "later"
    turn = [f'<task step="project" alias="{alias}" round="{request.round}" turn="{kind}" />']
    if request.words is not None:
        turn.insert(0, data("words", request.words, by=alias))
    elif mandate := _mandate(request.mandate):
        turn.insert(0, data("mandate", mandate, by=alias))
    return (*_marked([*source, Block(_tension(request.tension)), *past]), Block("\n\n".join(turn)))


def catalyst(request: CatalystRequest) -> tuple[Block, ...]:
    """The tension, then the growing exchange: projections of round 1, its observation, projections of round
    2 …
    """
    blocks = [Block(_tension(request.tension)), *_exchange_blocks(request)]
    task = catalyst_task(request)
    pairs = ", ".join(f"{a}-{b}" for a, b in task.examine)
    lines = [
        f'<task step="observe" round="{request.round}" verdict_counts="{_yes(request.verdict_counts)}">',
        f"contributors: {', '.join(request.contributors) or '-'}",
        f"{'only these pairs' if request.only_pairs else 'pairs to examine'}: {pairs or '-'}",
    ]
    if not request.only_pairs:
        lines += _task_lines(task)
    lines.append("</task>")
    strategy = [data("strategy", request.strategy, by="P00")] if request.strategy.strip() else []
    remarks = [data("remarks", "\n".join(f"- {line(one.sentence)}" for one in task.remarks))] if task.remarks else []
    return (*_marked(blocks), Block("\n\n".join((*strategy, *remarks, "\n".join(lines)))))


def _task_lines(task: CatalystTask) -> list[str]:
    """What code counted; each line is explained in the step's prompt."""
    lines = []
    if task.carried:
        lines.append(f"carried: {'; '.join(_standing(pair) for pair in task.carried)}")
    if task.untouched:
        lines.append(f"parts that no item is aimed at: {', '.join(task.untouched)}")
    if task.framework is not None:
        lines.append(f"open framework: {task.framework.id}")
    for figures in task.news[:-1]:
        lines.append(
            f"round {figures.round}: {figures.items} items, {figures.new_quotes} with a new quote; {figures.first_links} new links, "
            f"{len(figures.links)} of them on new or re-aimed quotes"
        )
    now = task.news[-1]
    lines.append(
        f"this round: {now.items} items, {now.new_quotes} with a new quote, {now.re_aimed} re-aimed in an answer"
    )
    return lines


def _standing(pair: Pair) -> str:
    return f"{pair.a}-{pair.b} {pair.relation}{_hedge(pair.basis)} {pair.id}"


def planner(request: PlannerRequest) -> tuple[Block, ...]:
    """The whole record at once. It is read once, so nothing of it is written to the cache."""
    blocks = [Block(_tension(request.tension)), *_exchange_blocks(request)]
    if ledger := standing(observations_of(request.exchange)):
        lines = (_standing(pair) for _, pair in sorted(ledger.items()))
        blocks.append(Block(data("relations_that_stand", "\n".join(lines))))
    blocks += [Block(_profile(material, alias)) for alias, material in sorted(request.materials.items())]
    for child in request.children:
        blocks.append(Block(data("child_plan", f"{line(child.title)}\n{plan_text(child.plan)}", process=child.process)))
    for alias, text in sorted(request.proposals.items()):
        blocks.append(Block(data("proposal", text, alias=alias)))
    tail = [data("open_points", "\n".join(f"- {line(point)}" for point in request.open_points))]
    aliases = ", ".join(alias for alias in request.aliases if alias not in request.without)
    gone = f"\ndeclined: {', '.join(request.without)}" if request.without else ""
    task = f'<task step="plan" revision="{request.revision}">\ncontributors: {aliases or "-"}{gone}\n</task>'
    return (*blocks, Block("\n\n".join((*(tail if request.open_points else ()), task))))


def delivery(request: DeliveryRequest) -> tuple[Block, ...]:
    """The plan, which every delivery reads, then of the participant's own items those that it rests on."""
    plan = request.plan
    used = {source for claim in plan.claims() for source in claim.sources}
    used |= {source for task in plan.tasks for source in task.sources}
    own = (
        turn.model_copy(update={"items": tuple(item for item in turn.items if item.id in used)}) for turn in request.own
    )
    return (
        Block(data("plan", plan_text(plan), revision=plan.revision), cache=True),
        *(Block(_projection(turn)) for turn in own if turn.items),
        Block(f'<task step="deliver" alias="{request.alias}" />'),
    )


def _marked(blocks: list[Block]) -> tuple[Block, ...]:
    """`blocks` with the last one ending a cached prefix. A later round finds it by looking back from its own
    last one.
    """
    return (*blocks[:-1], Block(blocks[-1].text, cache=True))


def _exchange_blocks(request: CatalystRequest | PlannerRequest) -> Iterable[Block]:
    for exchange in request.exchange:
        yield Block("\n\n".join(_projection(turn) for turn in exchange.projections) or f"(round {exchange.round})")
        if exchange.observation is not None:
            yield Block(_observation(exchange.observation))


def _tension(tension: Tension) -> str:
    barriers = (f"B{number}: {line(barrier)}" for number, barrier in enumerate(tension.barriers, 1))
    parts = (
        f"T: {line(tension.transition)}",
        f"I: {line(tension.initial_state)}",
        *barriers,
        f"E: {line(tension.exchange)}",
    )
    return data("tension", "\n".join(parts), of="P00")


def _profile(material: Material, alias: str) -> str:
    shown = {} if material.is_whole else {"shown": material.shown_chars, "of_characters": material.total_chars}
    return data("profile", material.text, of=alias, **shown)


def _mandate(mandate: Mandate) -> str:
    said = (
        ("speak only of", "; ".join(mandate.topics)),
        ("never disclose", "; ".join(mandate.never)),
        ("the person adds", mandate.addition),
    )
    return "\n".join(f"{name}: {line(text)}" for name, text in said if text.strip())


def _projection(turn: Projection) -> str:
    items = "\n".join(_item(item) for item in turn.items) or "-"
    return data("projection", items, by=turn.alias, round=turn.round, outcome=turn.outcome)


def _item(item: Item) -> str:
    aim = f" → {', '.join(item.targets)}" if item.targets else ""
    ground = (
        "fact"
        if not item.inferred
        else f"inferred from {', '.join(item.starts_from)}"
        if item.starts_from
        else "inferred"
    )
    steps = f" ⟨steps: {'; '.join(line(step) for step in item.mapping)}⟩" if item.mapping else ""
    answers = f"; answers {', '.join(item.answers)}" if item.answers else ""
    repeated = "; repeated" if item.repeated else ""
    return f"{item.id} [{item.dimension}{aim}; {ground}{answers}{repeated}] {line(item.claim)}{steps}"


def _observation(seen: Observation) -> str:
    """What the round stated. A relation that stands from an earlier round was read there, so it is not repeated."""
    lines = [f"verdict: {seen.verdict}"]
    lines += [
        f"{pair.id} {pair.a}-{pair.b} {pair.relation}{_hedge(pair.basis)}: {_with_sources(pair.text, pair.sources)}"
        for pair in seen.pairs
        if pair.stated_in == seen.round
    ]
    lines += [
        f"{part.id} {part.alias} {part.effect} {part.target}{_hedge(part.basis)}: {_with_sources(part.text, part.sources)}"
        for part in seen.contributions
    ]
    lines += [
        f"{told.id} translation {told.a} “{line(told.a_words)}” ~ {told.b} “{line(told.b_words)}”: "
        f"{_with_sources(told.text, told.sources)}"
        for told in seen.translations
    ]
    lines += [f"{gap.id} gap {gap.kind} {gap.target}: {_with_sources(gap.text, gap.sources)}" for gap in seen.gaps]
    for label, notes in (
        ("ignored", seen.ignored),
        ("framework", seen.frameworks),
        ("third_party_value", seen.third_party_value),
    ):
        lines += [_note(label, note) for note in notes if round_of(note.id) == seen.round]
    return data("observation", "\n".join(lines), by="catalyst", round=seen.round)


def _hedge(basis: Basis) -> str:
    return " (inferred)" if basis is Basis.INFERRED else ""


def _note(label: str, note: Note) -> str:
    name = f" “{line(note.name)}”" if note.name else ""
    about = f" ({', '.join(note.about)})" if note.about else ""
    return f"{note.id} {label}{name}{about}: {_with_sources(note.text, note.sources)}"


def _with_sources(text: str, sources: Iterable[str]) -> str:
    named = ", ".join(sources)
    return f"{line(text)} [{named}]" if named else line(text)


def plan_text(plan: Plan) -> str:
    """A plan's structure; its Markdown says the same for people and would only be read twice."""
    lines = [*_claims("panorama", plan.panorama)]
    for role in plan.roles:
        lines.append(f"role {role.alias}: {line(role.role)}{f' ({line(role.tier)})' if role.tier else ''}")
        for name in ("contributions", "benefits", "costs", "dependencies"):
            lines += _claims(f"  {role.alias} {name}", getattr(role, name))
    for task in plan.tasks:
        after = f" after {', '.join(task.prerequisites)}" if task.prerequisites else ""
        agreed = "agreed" if task.agreed else "offered by one side"
        said = _with_sources(task.title, task.sources)
        lines.append(f"task {task.id} [{task.assignee or 'nobody yet'}; {agreed}]{after}: {said}")
    lines += _claims("order", plan.order) + _claims("offset", plan.offsets)
    for residual in plan.residuals:
        told = f"T {line(residual.tension.transition)} B {line('; '.join(residual.tension.barriers))}"
        lines.append(f"{residual.id} residual {line(residual.title)}: {told}")
    lines += [f"open: {line(point)}" for point in plan.open_points]
    return "\n".join(lines)


def _claims(label: str, claims: Iterable[Claim]) -> list[str]:
    return [
        f"{label}{'' if claim.supported else ' (unsupported)'}: {_with_sources(claim.text, claim.sources)}"
        for claim in claims
    ]


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
