"""Requests → the text a model reads (docs/models.md, what a model is given).

Two rules shape it. What people, profiles and models wrote stands inside `<data …>` elements, which no text
inside can close. And what does not change from round to round comes first, in blocks whose bytes never
change again, so that round n+1 reads from the cache what round n wrote: `Block.cache` marks where a prefix
ends that will be read again. Instructions are in `prompts/`, one place per language. Those that hold for some
requests only (`parts_of`) stand in the `<task …>` element at the end, so that the system prompt never changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tongyao.llm.labels import label, line, round_figures, this_round, why_ended, with_sources
from tongyao.llm.parts import (
    framework_to_answer,
    mandate_lines,
    parts_of,
    taken_back,
    turn_kind,
    turns_of,
    with_own_sources,
)
from tongyao.llm.plan_rendering import plan_text
from tongyao.protocol.model.observation import Basis, Note, Observation, Pair, round_of
from tongyao.protocol.model.plan import Absence
from tongyao.protocol.model.projection import Item, Projection
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Language,
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


def blocks(request: Request, parts: Mapping[str, str] | None = None) -> tuple[Block, ...]:
    """The user's message for the request of any step. Raises `TypeError` for anything else.

    `parts`: the parts of the step's prompt by name; those that hold for the request (`parts_of`) stand in the task.
    """
    told = "\n\n".join(parts[name] for name in parts_of(request) if name in parts) if parts else ""
    match request:
        case FormulationRequest():
            return formulation(request, told)
        case EndpointRequest():
            return endpoint(request, told)
        case CatalystRequest():
            return catalyst(request, told)
        case PlannerRequest():
            return planner(request, told)
        case DeliveryRequest():
            return delivery(request, told)
    raise TypeError(f"no step has a request of type {type(request).__name__}")


def _task(request: Request, attributes: str, *, lines: Iterable[str] = (), told: str = "") -> str:
    """The task element: what code says of the request, a line each, then what the prompt says of such requests."""
    if request.began is not None:
        attributes += f' began="{request.began}"'
    inside = "\n\n".join(filter(None, ("\n".join(lines), told)))
    return f"<task {attributes}>\n{inside}\n</task>" if inside else f"<task {attributes} />"


def formulation(request: FormulationRequest, told: str = "") -> tuple[Block, ...]:
    blocks = [Block(_profile(request.material, "P00"))] if request.material else []
    intent = data("intent", request.intent, by="P00")
    task = _task(request, 'step="formulate"', told=told)
    return (*blocks, Block(f"{intent}\n\n{task}"))


def endpoint(request: EndpointRequest, told: str = "") -> tuple[Block, ...]:
    """Profile, tension, then one block per past round; the turn itself, which no later call reads, at the
    end.
    """
    alias, language = request.alias, request.language
    source = () if request.words is not None else (Block(_profile(request.material, alias), cache=True),)
    own = {turn.round: turn for turn in request.own}
    seen = {observation.round: observation for observation in request.observations}
    rounds = sorted(own.keys() | seen.keys())
    past = [
        Block(
            "\n\n".join(
                (
                    *([_projection(own[number], language)] if number in own else []),
                    *([_observation(with_own_sources(seen[number], alias), language)] if number in seen else []),
                )
            )
        )
        for number in rounds
    ]
    names = f'step="project" alias="{alias}" round="{request.round}" of="{_limit(request)}" turn="{turn_kind(request)}"'
    back = taken_back(request.own)
    lines = [f"{label('taken back', language)}: {', '.join(back)}"] if back else []
    if (framework := framework_to_answer(request)) is not None:
        lines.insert(0, f"{label('open framework', language)}: {framework.id}")
    turn = [_task(request, names, lines=lines, told=told)]
    if request.words is not None:
        turn.insert(0, data("words", request.words, by=alias))
    elif mandate := mandate_lines(request.mandate, language):
        turn.insert(0, data("mandate", mandate, by=alias))
    return (*_marked([*source, Block(_tension(request.tension)), *past]), Block("\n\n".join(turn)))


def _limit(request: EndpointRequest | CatalystRequest) -> int:
    """The most rounds there can be; at least the round that is asked for."""
    return max(request.round, request.round_limit)


def catalyst(request: CatalystRequest, told: str = "") -> tuple[Block, ...]:
    """The tension, then the growing exchange: projections of round 1, its observation, projections of round
    2 …
    """
    blocks = [Block(_tension(request.tension)), *_exchange_blocks(request)]
    task = catalyst_task(
        request.model_copy(update={"only_pairs": ()})
    )  # what a repair asks for stands in its complaints
    language = request.language
    counts = "yes" if request.verdict_counts else "no"
    lines = [
        f"{label('contributors', language)}: {', '.join(request.contributors) or '-'}",
        f"{label('pairs to examine', language)}: {', '.join(f'{a}-{b}' for a, b in task.examine) or '-'}",
        *_task_lines(task, taken_back(turns_of(request)), language),
    ]
    strategy = [data("strategy", request.strategy, by="P00")] if request.strategy.strip() else []
    remarks = (
        [data("remarks", "\n".join(f"- “{line(one.words)}”: {line(one.sentence)}" for one in task.remarks))]
        if task.remarks
        else []
    )
    names = f'step="observe" round="{request.round}" of="{_limit(request)}" verdict_counts="{counts}"'
    return (*_marked(blocks), Block("\n\n".join((*strategy, *remarks, _task(request, names, lines=lines, told=told)))))


def _task_lines(task: CatalystTask, back: Iterable[str], language: Language) -> list[str]:
    """What code counted; each line is explained in the step's prompt."""
    lines = []
    if task.carried:
        lines.append(f"{label('carried', language)}: {'; '.join(_standing(pair, language) for pair in task.carried)}")
    if task.untouched:
        lines.append(f"{label('parts that no item is aimed at', language)}: {', '.join(task.untouched)}")
    if task.framework is not None:
        lines.append(f"{label('open framework', language)}: {task.framework.id}")
    if named := ", ".join(back):
        lines.append(f"{label('taken back', language)}: {named}")
    lines += [f"{label('not taken over', language)}: {told}" for told in task.not_taken]
    lines += [
        round_figures(
            language,
            number=figures.round,
            items=figures.items,
            quoted=figures.new_quotes,
            first_links=figures.first_links,
            counted_links=len(figures.links),
        )
        for figures in task.news[:-1]
    ]
    now = task.news[-1]
    lines.append(
        this_round(language, items=now.items, quoted=now.new_quotes, re_aimed=now.re_aimed, which=task.can_be_news)
    )
    return lines


def _standing(pair: Pair, language: Language) -> str:
    second = "" if pair.second is None else f", {label('also', language)} {label(pair.second.relation, language)}"
    return f"{pair.a}-{pair.b} {label(pair.relation, language)}{_hedge(pair.basis, language)}{second} {pair.id}"


def planner(request: PlannerRequest, told: str = "") -> tuple[Block, ...]:
    """The whole record at once. It is read once, so nothing of it is written to the cache."""
    blocks = [Block(_tension(request.tension)), *_exchange_blocks(request)]
    if ledger := standing(observations_of(request.exchange)):
        lines = (_standing(pair, request.language) for _, pair in sorted(ledger.items()))
        blocks.append(Block(data("relations_that_stand", "\n".join(lines))))
    blocks += [Block(_profile(material, alias)) for alias, material in sorted(request.materials.items())]
    for child in request.children:
        blocks.append(
            Block(
                data(
                    "child_plan",
                    f"{line(child.title)}\n{plan_text(child.plan, request.language)}",
                    process=child.process,
                )
            )
        )
    for alias, text in sorted(request.proposals.items()):
        blocks.append(Block(data("proposal", text, alias=alias)))
    tail = []
    if request.absent:
        tail.append(data("absent", "\n".join(_absence(one, request.language) for one in request.absent)))
    if request.open_points:
        tail.append(data("open_points", "\n".join(f"- {line(point)}" for point in request.open_points)))
    aliases = ", ".join(alias for alias in request.aliases if alias not in request.without)
    counted = [f"{label('contributors', request.language)}: {aliases or '-'}"]
    if request.exchange:
        ended = why_ended(
            request.language,
            rounds=request.exchange[-1].round,
            converged=request.converged,
            points=bool(request.open_points),
        )
        counted.append(f"{label('rounds', request.language)}: {ended}")
    if back := taken_back(turns_of(request)):
        counted.append(f"{label('taken back', request.language)}: {', '.join(back)}")
    if request.without:
        counted.append(f"{label('declined', request.language)}: {', '.join(request.without)}")
    task = _task(request, f'step="plan" revision="{request.revision}"', lines=counted, told=told)
    return (*blocks, Block("\n\n".join((*tail, task))))


def delivery(request: DeliveryRequest, told: str = "") -> tuple[Block, ...]:
    """What the plan rests on, the tension first, and the plan: the same for every delivery."""
    plan = request.plan
    sources = "\n".join(f"{one.id} {line(one.text)}" for one in plan.references if one.text)
    return (
        *((Block(data("sources", sources)),) if sources else ()),
        Block(data("plan", plan_text(plan, request.language), revision=plan.revision), cache=True),
        Block(_task(request, f'step="deliver" alias="{request.alias}"', told=told)),
    )


def _marked(blocks: list[Block]) -> tuple[Block, ...]:
    """`blocks` with the last one ending a cached prefix. A later round finds it by looking back from its own
    last one.
    """
    return (*blocks[:-1], Block(blocks[-1].text, cache=True))


def _exchange_blocks(request: CatalystRequest | PlannerRequest) -> Iterable[Block]:
    for exchange in request.exchange:
        turns = (_projection(turn, request.language) for turn in exchange.projections)
        nobody = f"（第 {exchange.round} 轮）" if request.language == "zh" else f"(round {exchange.round})"
        yield Block("\n\n".join(turns) or nobody)
        if exchange.observation is not None:
            yield Block(_observation(exchange.observation, request.language))


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


def _projection(turn: Projection, language: Language) -> str:
    items = "\n".join(_item(item, language) for item in turn.items) or "-"
    return data("projection", items, by=turn.alias, round=turn.round, outcome=turn.outcome)


def _item(item: Item, language: Language) -> str:
    def named(word: str, ids: Iterable[str]) -> str:
        told = ", ".join(ids)
        return f"; {label(word, language)} {told}" if told else ""

    aim = f" → {', '.join(item.targets)}" if item.targets else ""
    ground = f"; {label('inferred' if item.inferred else 'fact', language)}"
    if item.inferred and item.starts_from:
        ground = named("inferred from", item.starts_from)
    steps = f" ⟨{label('steps', language)}: {'; '.join(line(step) for step in item.mapping)}⟩" if item.mapping else ""
    rest = named("answers", item.answers) + named("takes back", item.withdraws)
    rest += f"; {label('repeated', language)}" if item.repeated else ""
    premise = f"{line(item.premise)} ⟹ " if item.premise.strip() else ""
    return f"{item.id} [{label(item.dimension, language)}{aim}{ground}{rest}] {premise}{line(item.claim)}{steps}"


def _observation(seen: Observation, language: Language) -> str:
    """What the round stated. A relation that stands from an earlier round was read there, so it is not repeated."""
    lines = [f"{label('verdict', language)}: {seen.verdict}"]
    lines += [
        f"{pair.id} {pair.a}-{pair.b} {label(pair.relation, language)}{_hedge(pair.basis, language)}: "
        f"{with_sources(pair.text, pair.sources)}{_second(pair, language)}"
        for pair in seen.pairs
        if pair.stated_in == seen.round
    ]
    lines += [
        f"{part.id} {part.alias} {label(part.effect, language)} {part.target}{_hedge(part.basis, language)}: "
        f"{with_sources(part.text, part.sources)}"
        for part in seen.contributions
    ]
    lines += [
        f"{told.id} {label('translation', language)} {told.a} ⟨{line(told.a_words)}⟩ ~ {told.b} ⟨{line(told.b_words)}⟩: "
        f"{with_sources(told.text, told.sources)}"
        for told in seen.translations
    ]
    lines += [
        f"{gap.id} {label('gap', language)} {label(gap.kind, language)} {gap.target}: {with_sources(gap.text, gap.sources)}"
        for gap in seen.gaps
    ]
    for name, notes in (
        ("ignored", seen.ignored),
        ("framework", seen.frameworks),
        ("third_party_value", seen.third_party_value),
    ):
        lines += [_note(label(name, language), note) for note in notes if round_of(note.id) == seen.round]
    return data("observation", "\n".join(lines), by="catalyst", round=seen.round)


def _second(pair: Pair, language: Language) -> str:
    if pair.second is None:
        return ""
    kind = f"{label('also', language)} {label(pair.second.relation, language)}"
    return f" ‖ {kind}: {with_sources(pair.second.text, pair.second.sources)}"


def _hedge(basis: Basis, language: Language) -> str:
    return f" ({label('inferred', language)})" if basis is Basis.INFERRED else ""


def _note(title: str, note: Note) -> str:
    name = f" ⟨{line(note.name)}⟩" if note.name else ""
    about = f" ({', '.join(note.about)})" if note.about else ""
    return f"{note.id} {title}{name}{about}: {with_sources(note.text, note.sources)}"


def _absence(absence: Absence, language: Language) -> str:
    """The last gap that says it begins the line; ids of the earlier ones follow."""
    *earlier, last = absence.gaps
    also = f" ({label('said before', language)}: {', '.join(earlier)})" if earlier else ""
    return f"{last} {absence.target}: {line(absence.text)}{also}"
