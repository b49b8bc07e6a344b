"""One participant's part of a plan, laid out for them (docs/plans.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tongyao.protocol.documents.footnotes import Footnotes
from tongyao.protocol.documents.page import Entry, Group, Page, Section, markdown
from tongyao.protocol.documents.plan_page import introduced, people, step_name
from tongyao.protocol.documents.to_reader import to_reader
from tongyao.protocol.model.ids import ALIAS
from tongyao.protocol.model.plan import Claim, Delivery, Plan, speakers
from tongyao.protocol.model.requests import Language

WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "title": "Your part of the plan",
        "you": "You are {alias} here: {words}. Others read this alias. Your name is shown only if you commit, to whoever asked and to those who commit too.",
        "you_bare": "You are {alias} here. Others read this alias. Your name is shown only if you commit, to whoever asked and to those who commit too.",
        "others": "You meet these people below.",
        "waits": "Whom you wait for, and who waits for you",
        "waits_for": "Your {own} waits for {step}.",
        "comes_before": "Your {own} must be done before {step}.",
        "about": "What this is about",
        "asked": "What is asked of you",
        "nothing": "The plan asks nothing of you.",
        "no_part": "The plan has no part for you.",
        "no_gain": "The plan names nothing that you get.",
        "gains": "What you get",
        "conditions": "What it costs you, and your conditions as the plan states them",
        "open": "What is not solved, as far as it touches you",
        "lacking": "Open points of the plan that touch you",
        "answer": "Your answer",
        "terms": "Nothing was promised for you. What is asked of you is an offer of your side or a question to you, and it is "
        "agreed only when you say so: a proxy answers for nobody. While the plan is being answered you can commit, decline, "
        "or propose a change. Declining needs no reason. "
        "If you commit, the others who commit and whoever brought this are shown your name, and you are shown theirs.",
        "notes": "What this rests on",
    },
    "zh": {
        "title": "方案里你的那一份",
        "you": "你在这里的代号是 {alias}：{words}。别人看到的是这个代号。你接下以后，提出的人和同样接下的人才看到你的名字。",
        "you_bare": "你在这里的代号是 {alias}。别人看到的是这个代号。你接下以后，提出的人和同样接下的人才看到你的名字。",
        "others": "下面会提到这些人。",
        "waits": "你要等谁，谁在等你",
        "waits_for": "你的{own}要等 {step}。",
        "comes_before": "你的{own}做完，才轮到 {step}。",
        "about": "这是怎么一回事",
        "asked": "要你做的",
        "nothing": "方案里没有要你做的事。",
        "no_part": "方案里没有你的份。",
        "no_gain": "方案没有写到你得到什么。",
        "gains": "你得到的",
        "conditions": "你付出的，和你的条件，方案里是这样写的",
        "open": "与你有关、还没有解开的",
        "lacking": "方案里没有解开的几处，与你有关",
        "answer": "你的答复",
        "terms": "没有人替你答应过任何事。要你做的，是你这一方提出的，或者是向你提的问题；你说了算数，才算谈定；代理不替任何人答复。"
        "征求答复期间，你可以接下（commit）、不接（decline），或者另提一个办法（propose）。不接不用解释。"
        "你接下以后，同样接下的人和提出这件事的人会看到你的名字，你也看到他们的。",
        "notes": "依据",
    },
}


def delivery_markdown(delivery: Delivery, plan: Plan) -> str:
    """The delivery as Markdown. `plan`: the one that it is a part of."""
    return markdown(delivery_page(delivery, plan))


def delivery_page(delivery: Delivery, plan: Plan) -> Page:
    """The delivery as a page. Section kinds: `about`, `asked`, `gains`, `conditions`, `waits`, `open`, `lacking`, `answer`."""
    language: Language = "zh" if delivery.language == "zh" else "en"
    words = WORDS[language]
    notes = Footnotes(language, plan.references, reader=delivery.alias)
    known = people(plan, language)

    def section(kind: str, claims: Iterable[Claim], before: tuple[Entry, ...] = (), without: str = "") -> Section:
        told = tuple(
            Entry(
                text=to_reader(claim.text, delivery.alias, language),
                note=_note(notes, kind, claim, delivery.alias),
            )
            for claim in claims
        )
        groups = tuple(Group(entries=entries) for entries in (before, told) if entries)
        nothing = (Group(entries=(Entry(text=without),)),) if without else ()
        return Section(kind=kind, heading=words[kind], groups=groups or nothing)

    mine = known.get(delivery.alias, "")
    you = words["you" if mine else "you_bare"].format(alias=delivery.alias, words=mine)
    touching = [one for one in plan.residuals if delivery.alias in speakers(one.sources)]
    spoken = "\n".join([*(claim.text for claim in delivery.claims()), *(one.title for one in touching)])
    met = sorted({alias for alias in ALIAS.findall(spoken) if alias in known} - {delivery.alias})
    others = (Entry(text=words["others"]), *introduced({alias: known[alias] for alias in met}, language))
    takes_part = plan.has_part(delivery.alias)
    no_part = () if takes_part else (Entry(text=words["no_part"]),)
    intro = (Entry(text=you), *no_part, *(others if met else ()))
    sections = [
        section("about", delivery.about, before=intro),
        section("asked", delivery.asked, without=words["nothing"]),
        section("gains", delivery.gains, without=words["no_gain"] if takes_part else ""),
        section("conditions", delivery.conditions),
        section("waits", (), before=_waits(plan, delivery.alias, language)),
        section("open", delivery.open),
    ]
    lacking = tuple(
        Group(
            heading=residual.title,
            ref=residual.id,
            entries=(Entry(text=residual.tension.transition, note=notes.mark("sources", residual.sources)),),
        )
        for residual in touching
    )
    sections.append(Section(kind="lacking", heading=words["lacking"], groups=lacking))
    sections.append(
        Section(kind="answer", heading=words["answer"], groups=(Group(entries=(Entry(text=words["terms"]),)),))
    )
    return Page(
        language=language,
        title=words["title"],
        remarks=delivery.remarks,
        sections=tuple(one for one in sections if one.groups),
        notes_heading=words["notes"],
        notes=notes.notes(),
    )


def _waits(plan: Plan, reader: str, language: Language) -> tuple[Entry, ...]:
    """Which steps of the reader wait for those of others, and which of others wait for the reader's."""
    words = WORDS[language]
    numbers = {task.id: number for number, task in enumerate(plan.tasks, 1)}
    told: list[str] = []
    for task in plan.tasks:
        for before in (plan.tasks[numbers[one] - 1] for one in task.prerequisites if one in numbers):
            if (task.assignee == reader) == (before.assignee == reader):
                continue
            waits = task.assignee == reader
            mine, other = (task, before) if waits else (before, task)
            own = step_name(plan, numbers[mine.id], language, whose=False)
            named = step_name(plan, numbers[other.id], language)
            told.append(words["waits_for" if waits else "comes_before"].format(own=own, step=named))
    return tuple(Entry(text=one) for one in dict.fromkeys(told))


def _note(notes: Footnotes, kind: str, claim: Claim, reader: str) -> int:
    """What is asked of the reader is noted as unsaid where none of their own words offers it."""
    if kind == "asked" and claim.sources and reader not in speakers(claim.sources):
        return notes.mark("unsaid", claim.sources, claim.doubt)
    return notes.of_claim(claim)
