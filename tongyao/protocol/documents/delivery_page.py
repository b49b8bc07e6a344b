"""The page of one participant's part of a plan (docs/plans.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tongyao.protocol.documents.footnotes import Footnotes
from tongyao.protocol.documents.page import Group, Page, PageEntry, PageSection, markdown
from tongyao.protocol.documents.plan_page import people, residual_group, step_name, words_of_people
from tongyao.protocol.documents.to_reader import to_reader
from tongyao.protocol.model.ids import ALIAS, speaker_of
from tongyao.protocol.model.plan import Claim, Delivery, Plan, speakers
from tongyao.protocol.model.requests import Language, known_language
from tongyao.texts.catalogue import table

WORDS: Final = table("protocol", "delivery")


def delivery_markdown(delivery: Delivery, plan: Plan) -> str:
    return markdown(delivery_page(delivery, plan))


def delivery_page(delivery: Delivery, plan: Plan) -> Page:
    """Return the delivery as a page: `about`, `asked`, `gains`, `conditions`, `waits`, `open`, `lacking`, `answer`."""
    language = known_language(delivery.language)
    words = WORDS[language]
    notes = Footnotes(language, plan.references, reader=delivery.alias)
    known = people(plan, language)

    def section(
        kind: str, claims: Iterable[Claim], before: tuple[PageEntry, ...] = (), without: str = ""
    ) -> PageSection:
        told = tuple(
            PageEntry(
                text=to_reader(claim.text, delivery.alias, language),
                note=_note(notes, kind, claim, delivery.alias),
            )
            for claim in claims
        )
        groups = tuple(Group(entries=entries) for entries in (before, told) if entries)
        nothing = (Group(entries=(PageEntry(text=without),)),) if without else ()
        return PageSection(kind=kind, heading=words[kind], groups=groups or nothing)

    mine = known.get(delivery.alias, "")
    you = words["you" if mine else "you_bare"].format(alias=delivery.alias, words=mine)
    touching = [residual for residual in plan.residuals if delivery.alias in speakers(residual.sources)]
    spoken = "\n".join([*(claim.text for claim in delivery.claims()), *(residual.title for residual in touching)])
    met = sorted({alias for alias in ALIAS.findall(spoken) if alias in known} - {delivery.alias})
    others = PageEntry(
        text=words["others"].format(who=words_of_people({alias: known[alias] for alias in met}, language))
    )
    takes_part = plan.has_part(delivery.alias)
    no_part = () if takes_part else _no_part(plan, delivery.alias, words)
    intro = (PageEntry(text=you), *no_part, *((others,) if met else ()))
    sections = [
        section("about", delivery.about, before=intro),
        section("asked", delivery.asked, without=words["nothing"]),
        section("gains", delivery.gains, without=words["no_gain"] if takes_part else ""),
        section("conditions", delivery.conditions),
        section("waits", (), before=_waits(plan, delivery.alias, language)),
        section("open", delivery.open),
    ]
    lacking = tuple(residual_group(residual, notes) for residual in touching)
    sections.append(PageSection(kind="lacking", heading=words["lacking"], groups=lacking))
    sections.append(
        PageSection(kind="answer", heading=words["answer"], groups=(Group(entries=(PageEntry(text=words["terms"]),)),))
    )
    return Page(
        language=language,
        title=words["title"],
        remarks=delivery.remarks,
        sections=tuple(section for section in sections if section.groups),
        notes_heading=words["notes"],
        notes=notes.notes(),
    )


def _no_part(plan: Plan, reader: str, words: Mapping[str, str]) -> tuple[PageEntry, ...]:
    """State that the plan has no part for the reader. If the plan cites none of their words, list those words."""
    said = [source.text for source in plan.unused if speaker_of(source.id) == reader]
    if not said or reader in speakers(plan.cited()):
        return (PageEntry(text=words["no_part"]),)
    return (
        PageEntry(text=words["not_used"]),
        *(PageEntry(text=words["said_unused"].format(words=text)) for text in said),
    )


def _waits(plan: Plan, reader: str, language: Language) -> tuple[PageEntry, ...]:
    """Return a sentence for each pair of a step of the reader and a step of somebody else of which one waits for the
    other."""
    words = WORDS[language]
    numbers = {task.id: number for number, task in enumerate(plan.tasks, 1)}
    told: dict[tuple[int, int], str] = {}
    for task in plan.tasks:
        for before in (
            plan.tasks[numbers[prerequisite] - 1] for prerequisite in task.prerequisites if prerequisite in numbers
        ):
            if (task.assignee == reader) == (before.assignee == reader):
                continue
            waits = task.assignee == reader
            mine, other = (task, before) if waits else (before, task)
            own = step_name(plan, numbers[mine.id], language, whose=False)
            named = step_name(plan, numbers[other.id], language)
            line = words["waits_for" if waits else "comes_before"].format(own=own, step=named)
            told[numbers[mine.id], numbers[other.id]] = line
    return tuple(PageEntry(text=line) for _, line in sorted(told.items()))


def _note(notes: Footnotes, kind: str, claim: Claim, reader: str) -> int:
    """Return the number of an entry's note: `unsaid` for a request to the reader with sources of other people only."""
    if kind == "asked" and claim.sources and reader not in speakers(claim.sources):
        return notes.mark("unsaid", claim.sources, claim.doubt)
    return notes.of_claim(claim)
