"""Renders requests as text for a model (docs/models.md, what a model is given).

Two rules apply. First, everything that people, profiles and models wrote is inside `<data …>` elements, and no text
inside can close its element. Second, the parts that stay the same in all rounds come first, in blocks whose bytes never
change again. So round n+1 reads from the cache the prefix that round n wrote. `Block.cache` marks the end of a prefix
that will be read again. Instructions are in `prompts/`, one place per language. Instructions for some requests only
(`Prompt.parts`) are in the `<task …>` element at the end, so that the system prompt never changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tongyao.llm.labels import label, line, what_came, why_ended, with_sources
from tongyao.protocol.model.observation import NoteKind, Relation, Statement
from tongyao.protocol.model.plan import Claim, Plan, Task, TaskStanding
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Item, Outcome
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Language,
    Mandate,
    Material,
    PlannerRequest,
    Request,
)
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.unicode_text import folded
from tongyao.protocol.rules.standing import Standing, not_examined, standing

_FORGED = re.compile(
    r"(?:<|&lt;?|&#0{0,5}60;?|&#x0{0,5}3c;?|\\u003c|\\x3c)(?=[\W_]{0,20}(?:d\W{0,3}a\W{0,3}t\W{0,3}a|t\W{0,3}a\W{0,3}s\W{0,3}k))"
)
"""One of Tongyao's own tags, in folded text: width, case, accents and invisible characters cannot disguise it."""


@dataclass(frozen=True)
class Block:
    """A part of the user message. `cache`: whether later calls read the prompt up to the end of this block again."""

    text: str
    cache: bool = False


def data(kind: str, text: str, **attributes: object) -> str:
    """`text` inside a `<data>` element.

    The angle bracket of anything that looks like one of Tongyao's own tags is replaced, so that the text cannot close
    the element.
    """
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
    """The user message for the request of any step. Raises `TypeError` for any other object.

    `parts`: the parts of the step's prompt, by name. Those that apply to the request are placed in the task element.
    """
    told = parts or {}
    match request:
        case FormulationRequest():
            return _formulation(request, told)
        case EndpointRequest():
            return _endpoint(request, told)
        case CatalystRequest():
            return _catalyst(request, told)
        case PlannerRequest():
            return _planner(request, told)
        case DeliveryRequest():
            return _delivery(request, told)
    raise TypeError(f"no step has a request of type {type(request).__name__}")


def _task(
    request: Request, attributes: str, parts: Mapping[str, str], holds: Mapping[str, bool], lines: Iterable[str] = ()
) -> str:
    """The task element: `lines` about the request, made by code, then the parts of the prompt that apply to it."""
    if request.began is not None:
        attributes += f' began="{request.began}"'
    chosen = (parts[name] for name, is_so in holds.items() if is_so and name in parts)
    inside = "\n\n".join(filter(None, ("\n".join(lines), *chosen)))
    return f"<task {attributes}>\n{inside}\n</task>" if inside else f"<task {attributes} />"


def _formulation(request: FormulationRequest, parts: Mapping[str, str]) -> tuple[Block, ...]:
    material = request.material
    source = [Block(_profile(material, DEMANDER))] if material else []
    holds = {"profile": material is not None, "pieces": material is not None and not material.is_whole}
    intent = data("intent", request.intent, by=DEMANDER)
    task = _task(request, 'step="formulate"', parts, holds)
    return (*source, Block(f"{intent}\n\n{task}"))


def _endpoint(request: EndpointRequest, parts: Mapping[str, str]) -> tuple[Block, ...]:
    """The tension, the profile, the current state, and the task.

    Tension and profile are the same in all rounds, except a long profile, which is searched again in each round.
    """
    alias, language = request.alias, request.language
    profile = Block(_profile(request.material, alias), cache=request.material.is_whole)
    material = [Block(_tension(request.tension)), profile]
    now = []
    if request.items:
        now.append(data("said", "\n".join(_item(item, language) for item in request.items), by=alias))
    if request.stands:
        stands = (_statement(statement, language) for statement in request.stands)
        now.append(data("stands", "\n".join(stands), by="host"))
    if request.words:
        now.append(data("words", request.words, by="host", round=request.round - 1))
    mandate = _mandate(request.mandate, language)
    if mandate:
        now.append(data("mandate", mandate, by=alias))
    holds = {
        "demander": request.answers_only,
        "seated": alias == DEMANDER and not request.answers_only,
        "first": request.first and not request.answers_only,
        "later": not request.first and not request.answers_only,
        "asked": bool(request.asked),
        "exhausted": request.exhausted,
        "pieces": not request.material.is_whole,
        "mandate": bool(mandate),
    }
    lines = [f"{label('asks', language)}: {', '.join(request.asked)}"] if request.asked else []
    task = _task(request, f'step="project" alias="{alias}" round="{request.round}"', parts, holds, lines)
    return (*material, Block("\n\n".join((*now, task))))


def _catalyst(request: CatalystRequest, parts: Mapping[str, str]) -> tuple[Block, ...]:
    """The tension and the items by round, which never change, then the current state, and the task."""
    language = request.language
    state = standing(request.exchange)
    stands = [_marked(statement, state, language, protected=True) for statement in state.statements]
    now = [data("stands", "\n".join(stands))] if stands else []
    if strategy := request.strategy.strip():
        now.append(data("strategy", strategy, by=DEMANDER))
    holds = {
        "early": not request.verdict_counts,
        "counting": request.verdict_counts,
        "again": request.round > 1,
        "strategy": bool(strategy),
    }
    lines = _lines_of_round(request, state)
    task = _task(request, f'step="observe" round="{request.round}"', parts, holds, lines)
    return (*_cached([Block(_tension(request.tension)), *_said(request)]), Block("\n\n".join((*now, task))))


def _lines_of_round(request: CatalystRequest, state: Standing) -> list[str]:
    """Return lines about the round, made by code. The step's prompt explains each line."""
    language = request.language
    pairs = ", ".join(f"{a}-{b}" for a, b in not_examined(state, request.contributors))
    lines = [
        f"{label('contributors', language)}: {', '.join(request.contributors) or '-'}",
        f"{label('not looked at yet', language)}: {pairs or '-'}",
    ]
    if state.replaced:
        lines.append(f"{label('replaced', language)}: {', '.join(sorted(state.replaced))}")
    if state.lapsed:
        earlier = {statement.id: statement for statement in _stated(request)}
        told = "; ".join(f"{id} {line(earlier[id].text)}" for id in state.lapsed)
        lines.append(f"{label('lapsed', language)}: {told}")
    return lines


def _stated(request: CatalystRequest) -> Iterable[Statement]:
    for exchange in request.exchange:
        if exchange.observation is not None:
            yield from exchange.observation.statements


def _planner(request: PlannerRequest, parts: Mapping[str, str]) -> tuple[Block, ...]:
    """The whole record. It is sent only once, so no part of it is written to the cache."""
    language = request.language
    state = standing(request.exchange)
    blocks = [Block(_tension(request.tension))]
    blocks += [Block(data("said", "\n".join(_item(item, language) for item in state.valid_items)))]
    if stands := [_marked(statement, state, language) for statement in state.statements]:
        blocks.append(Block(data("stands", "\n".join(stands))))
    blocks += [Block(_profile(material, alias)) for alias, material in sorted(request.materials.items())]
    for child in request.children:
        text = f"{line(child.title)}\n{plan_text(child.plan, language)}"
        blocks.append(Block(data("child_plan", text, process=child.process)))
    blocks += [Block(data("proposal", text, alias=alias)) for alias, text in sorted(request.proposals.items())]
    lines = [f"{label('contributors', language)}: {', '.join(request.aliases) or '-'}"]
    if request.exchange:
        ended = why_ended(language, rounds=request.exchange[-1].round, converged=request.converged)
        lines.append(f"{label('rounds', language)}: {ended}")
    if request.without:
        lines.append(f"{label('declined', language)}: {', '.join(request.without)}")
    holds = {
        "profiles": bool(request.materials),
        "pieces": not all(material.is_whole for material in request.materials.values()),
        "declined": bool(request.without),
        "proposal": bool(request.proposals),
        "child_plan": bool(request.children),
    }
    return (*blocks, Block(_task(request, f'step="plan" revision="{request.revision}"', parts, holds, lines)))


def _delivery(request: DeliveryRequest, parts: Mapping[str, str]) -> tuple[Block, ...]:
    """Return the plan's sources and the plan, which are the same for every delivery, then the task of one delivery."""
    plan = request.plan
    sources = "\n".join(f"{source.id} {line(source.text)}" for source in plan.references if source.text)
    holds = {"without_part": not plan.has_part(request.alias)}
    return (
        *((Block(data("sources", sources)),) if sources else ()),
        Block(data("plan", plan_text(plan, request.language), revision=plan.revision), cache=True),
        Block(_task(request, f'step="deliver" alias="{request.alias}"', parts, holds)),
    )


def _cached(blocks: list[Block]) -> tuple[Block, ...]:
    """`blocks`, with a cache mark on the last one. A later request finds the prefix by looking back from its last
    block."""
    return (*blocks[:-1], Block(blocks[-1].text, cache=True))


def _said(request: CatalystRequest) -> Iterable[Block]:
    """One block per round, with all items and a line for every turn with `nothing_new`."""
    language = request.language
    for exchange in request.exchange:
        lines = [_item(item, language) for turn in exchange.projections for item in turn.items]
        lines += [
            f"{turn.alias}: {label('nothing new', language)}"
            for turn in exchange.projections
            if turn.outcome is Outcome.NOTHING_NEW
        ]
        yield Block(data("said", "\n".join(lines) or "-", round=exchange.round))


def _tension(tension: Tension) -> str:
    named = zip(tension.target_names(), tension.lines(), strict=True)
    return data("tension", "\n".join(f"{name}: {line(text)}" for name, text in named), of=DEMANDER)


def _profile(material: Material, alias: str) -> str:
    shown = {} if material.is_whole else {"shown": material.shown_chars, "of_characters": material.total_chars}
    return data("profile", material.text, of=alias, **shown)


def _item(item: Item, language: Language) -> str:
    """`R1/P01/2 [boundary; B1, E; inferred; replaces R1/P01/1] text`. A person's own words have no brackets."""
    marks = [
        *([label(item.kind, language)] if item.kind else []),
        *([", ".join(item.about)] if item.about else []),
        *([label("inferred", language)] if item.inferred else []),
        *([f"{label('replaces', language)} {', '.join(item.replaces)}"] if item.replaces else []),
    ]
    bracket = f"[{'; '.join(marks)}] " if marks else ""
    return f"{item.id} {bracket}{line(item.text)}"


def _statement(statement: Statement, language: Language, *, sources: bool = False) -> str:
    """A statement as one line: `R1/r1 complementary P01–P02: text [sources]`, `R1/n2 gap B1: text [sources]`.

    The line does not state whom a gap asks. A proxy reads this in its task, and the catalyst reads it with the outcome
    of the gap (`_marked`).
    """
    about = "–".join(statement.between) if isinstance(statement, Relation) else ", ".join(statement.about)
    text = with_sources(statement.text, statement.sources) if sources else line(statement.text)
    return f"{statement.id} {label(statement.kind, language)} {about}: {text}"


def _marked(statement: Statement, state: Standing, language: Language, *, protected: bool = False) -> str:
    """A statement with sources and marks by code: `R1/r2 offsetting P01–P02: text [sources] (inferred; stays)`."""
    marks = [
        *(["inferred"] if state.rests_on_inference(statement) else []),
        *(["rests on a replaced item"] if state.rests_on_replaced(statement) else []),
        *(["stays"] if protected and state.is_protected(statement) else []),
    ]
    told = [label(mark, language) for mark in marks]
    if statement.kind is NoteKind.GAP:
        answers = [item.id for item in state.valid_items if statement.id in item.about]
        told += what_came(state.asked.get(statement.id), answers, language)
    text = _statement(statement, language, sources=True)
    return f"{text} ({'; '.join(told)})" if told else text


def _mandate(mandate: Mandate, language: Language) -> str:
    """A mandate as lines of a request. Empty if the mandate only permits the proxy to speak."""
    said = (
        ("speak only of", "; ".join(mandate.topics)),
        ("never disclose", "; ".join(mandate.never)),
        ("the person adds", mandate.addition),
    )
    return "\n".join(f"{label(name, language)}: {line(text)}" for name, text in said if text.strip())


def plan_text(plan: Plan, language: Language) -> str:
    """A plan as text for a model. The plan's Markdown has the same content for people and is not sent."""
    lines = _claims("date", (plan.date,) if plan.date else (), language) + _claims("possible", plan.possible, language)
    for role in plan.roles:
        lines.append(f"{label('role', language)} {role.alias}: {line(role.role)}")
        lines += _claims("conditions", role.conditions, language, before=f"  {role.alias} ")
    lines += [_task_of_plan(task, language) for task in plan.tasks]
    lines += _claims("against", plan.offsets, language)
    for residual in plan.residuals:
        tension = residual.tension
        told = f"T {line(tension.transition)} I {line(tension.initial_state)} "
        told += f"B {line('; '.join(tension.barriers))} E {line(tension.exchange)}"
        title = f"{residual.id} {label('residual', language)} {line(residual.title)}"
        lines.append(f"{title}: {with_sources(told, residual.sources)}")
    return "\n".join(lines)


_STANDING: Final[Mapping[TaskStanding, str]] = {
    "agreed": "agreed",
    "decides": "for whoever brought this to decide",
    "asked": "a question to them",
    "offered": "offered by one side",
    "unasked": "offered by nobody",
}


def _task_of_plan(task: Task, language: Language) -> str:
    after = f" {label('after', language)} {', '.join(task.prerequisites)}" if task.prerequisites else ""
    who = f"{task.assignee} ({line(task.outside)})" if task.outside else task.assignee
    when = f" {label('when', language)} {line(task.when)}" if task.when else ""
    said = with_sources(task.title, task.sources)
    return (
        f"{label('task', language)} {task.id} [{who}; {label(_STANDING[task.standing], language)}]{after}{when}: {said}"
    )


def _claims(name: str, claims: Iterable[Claim], language: Language, before: str = "") -> list[str]:
    title = f"{before}{label(name, language)}"
    return [f"{title}{_standing_of(claim, language)}: {with_sources(claim.text, claim.sources)}" for claim in claims]


def _standing_of(claim: Claim, language: Language) -> str:
    word = "unsupported" if not claim.supported else "concluded" if claim.concluded else ""
    return f" ({label(word, language)})" if word else ""
