"""The page of a plan, for a reader who knows no other document (docs/plans.md). Pure.

The sections of the body are in the order in which a reader acts: possibilities, tasks and conditions of each person,
points to settle first, open points, obstacles. Sources and all other parts follow under one heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tongyao.protocol.documents.footnotes import Footnotes
from tongyao.protocol.documents.page import Group, Page, PageEntry, PageSection, markdown
from tongyao.protocol.documents.plan_answers import GivenAnswer, answers_section, earlier_answers_sections
from tongyao.protocol.documents.to_reader import addressed
from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.plan import OUTSIDE, Claim, Plan, PlanRole, Residual, Task
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.record import EarlierAnswer
from tongyao.protocol.model.requests import Language, known_language
from tongyao.protocol.model.sizes import cut, quotes_closed, units
from tongyao.protocol.model.tension import MISSING, Tension
from tongyao.texts.catalogue import table

BODY_UNITS: Final[Mapping[Language, int]] = {"en": 1_500, "zh": 2_500}
"""Longest body of a plan for at most five participants, in units (words, or Chinese characters)."""
_ROOM: Final = 5

_WORDS: Final = table("protocol", "plan")
_TITLE_UNITS: Final[Mapping[Language, int]] = {"en": 10, "zh": 20}
"""Maximum length of the part of a step's title that its name repeats, in units."""


def plan_markdown(plan: Plan, answers: Sequence[GivenAnswer] = (), earlier: Sequence[EarlierAnswer] = ()) -> str:
    return markdown(plan_page(plan, answers, earlier))


def plan_page(
    plan: Plan, answers: Sequence[GivenAnswer] = (), earlier: Sequence[EarlierAnswer] = (), *, reader: str = ""
) -> Page:
    """Return the whole plan as a page, without empty sections. `reader`: the alias of the person whom the page calls
    "you".

    Sections: `possible`, `roles`, `first`, `open`, `against`, `answers`; appendix: `residuals`, `unused`,
    `answers_before`.

    Args:
        answers: of everybody who is asked.
        earlier: answers to replaced plans.
    """
    return addressed(_PlanLayout(plan, answers, earlier, reader).page(), reader)


def body_limit(language: Language, participants: int) -> int:
    """Return the longest permitted body of a plan, in units. It grows in proportion above five participants."""
    return BODY_UNITS[language] * max(_ROOM, participants) // _ROOM


def body_units(plan: Plan) -> int:
    """Return the length of the body of the unanswered plan, in units."""
    page = plan_page(plan)
    lead = "" if page.lead is None else page.lead.text
    texts = [page.title, lead, *page.remarks]
    for section in page.sections:
        texts += [section.heading, section.lead]
        for group in section.groups:
            texts.append(group.heading)
            texts += [f"{entry.label} {entry.text} {entry.remark}" for entry in group.entries]
    return sum(map(units, texts))


def length_remark(plan: Plan, participants: int) -> str:
    """Return a sentence with the length of the body if it is too long. Empty otherwise."""
    language = known_language(plan.language)
    size, limit = body_units(plan), body_limit(language, participants)
    return _WORDS[language]["long"].format(units=size, limit=limit) if size > limit else ""


def people(plan: Plan, language: Language) -> dict[str, str]:
    """Return the people of the plan by alias, with the words that distinguish them from all others."""
    return {DEMANDER: _WORDS[language]["demander"], **{role.alias: role.role for role in plan.roles if role.role}}


class _PlanLayout:
    def __init__(
        self, plan: Plan, answers: Sequence[GivenAnswer], earlier: Sequence[EarlierAnswer], reader: str
    ) -> None:
        self._plan, self._answers, self._earlier = plan, answers, earlier
        self._decisions = {answer.alias: answer.decision for answer in answers if answer.decision}
        self._language = known_language(plan.language)
        self._words = _WORDS[self._language]
        self._notes = Footnotes(self._language, plan.references, reader=reader)
        self._numbers = {task.id: number for number, task in enumerate(plan.tasks, 1)}

    def page(self) -> Page:
        plan, words = self._plan, self._words
        remarks = list(plan.remarks)
        if plan.removed:
            remarks.append(words["removed"].format(who=words["and"].join(plan.removed)))
        if plan.reduced:
            remarks.append(words["reduced"])
        lead = self._lead()
        sections = [
            self._section("possible", (Group(entries=self._people()), *self._claims(plan.possible), *self._date())),
            self._section("roles", self._roles()),
            self._section("first", self._first()),
            self._section("open", self._open()),
            self._section("against", self._claims(plan.offsets)),
            answers_section(self._answers, self._language),
        ]
        appendix = [
            self._section("residuals", self._residuals()),
            self._section("unused", self._unused()),
            *earlier_answers_sections(self._earlier, self._language),
        ]
        return Page(
            language=self._language,
            title=words["title"] if plan.revision == 1 else words["revision"].format(revision=plan.revision),
            lead=lead,
            remarks=tuple(remarks),
            sections=tuple(section for section in sections if section is not None and section.groups),
            notes_heading=words["notes"],
            notes=self._notes.notes(),
            appendix=tuple(section for section in appendix if section.groups),
        )

    def _section(self, kind: str, groups: Iterable[Group]) -> PageSection:
        lead = self._words.get(f"{kind}_lead", "")
        return PageSection(kind=kind, heading=self._words[kind], lead=lead, groups=tuple(groups))

    def _lead(self) -> PageEntry | None:
        """Return the first line: who has agreed. None for an empty plan that asks nobody."""
        if not (self._plan.claims() or self._plan.tasks or self._answers):
            return None
        agreed = [alias for alias, decision in self._decisions.items() if decision == "commit"]
        who = self._words["and"].join(agreed)
        return PageEntry(text=self._words["some"].format(who=who) if agreed else self._words["nobody"])

    def _date(self) -> tuple[Group, ...]:
        date = self._plan.date
        return () if date is None else (Group(entries=(self._entry(date, self._words["date"]),)),)

    def _people(self) -> tuple[PageEntry, ...]:
        known = {role.alias: role.role or self._words["bare"] for role in self._plan.roles}
        for answer in self._answers:
            erased = answer.decision == "erased" or answer.alias in self._plan.removed
            known.setdefault(answer.alias, self._words["gone" if erased else "unheard"])
        known[DEMANDER] = self._words["demander"]
        return (PageEntry(text=words_of_people(dict(sorted(known.items())), self._language)),)

    def _claims(self, claims: Iterable[Claim]) -> tuple[Group, ...]:
        entries = tuple(self._entry(claim) for claim in claims)
        return (Group(entries=entries),) if entries else ()

    def _entry(self, claim: Claim, label: str = "") -> PageEntry:
        return PageEntry(text=claim.text, label=label, note=self._notes.of_claim(claim))

    def _roles(self) -> tuple[Group, ...]:
        """Return one group for each participant, and one for the demander if they have a task."""
        own = PlanRole(alias=DEMANDER, role=self._words["demander"])
        roles = self._plan.roles
        if all(role.alias != DEMANDER for role in roles) and self._tasks_of(DEMANDER):
            roles = (*roles, own)
        return tuple(self._role(role) for role in roles)

    def _role(self, role: PlanRole) -> Group:
        entries = [self._task(task, self._state(task)) for task in self._tasks_of(role.alias)]
        entries += [self._entry(claim, self._words["conditions"]) for claim in role.conditions]
        if not entries and all(task.assignee != role.alias for task in self._plan.tasks):
            entries = [PageEntry(text=self._words["silent"])]
        heading = words_of_people({role.alias: role.role}, self._language)
        return Group(heading=heading, alias=role.alias, entries=tuple(entries))

    def _tasks_of(self, alias: str) -> list[Task]:
        return [task for task in self._plan.tasks if task.assignee == alias and not task.question]

    def _first(self) -> tuple[Group, ...]:
        """Return the questions, and the tasks without an assignee in this process."""
        words, entries = self._words, []
        for task in self._plan.tasks:
            if task.has_doer and not task.question:
                continue
            if task.has_doer:
                who = f"{task.assignee}{words['colon']}"
            elif task.assignee == OUTSIDE:
                who = words["outside" if task.outside else "outside_unknown"].format(who=task.outside)
            else:
                who = words["nobody_yet"]
            entries.append(self._task(task, "", who))
        return (Group(entries=tuple(entries)),) if entries else ()

    def _task(self, task: Task, state: str, who: str = "") -> PageEntry:
        """Return a task with its number, assignee, date, status and preceding steps."""
        words, title, when = self._words, task.title.strip(), task.when.strip()
        if when:
            title = words["when"].format(title=title.rstrip(".。"), when=when)
        if when or not title.endswith((".", "。", "!", "?", "！", "？", "」", "”")):
            title = f"{title}{words['end']}"
        before = sorted({self._numbers[id] for id in task.prerequisites if id in self._numbers})
        steps = [words["steps"].format(number=number) for number in before]
        after = words["after"].format(steps=words["and"].join(steps)) if steps else ""
        label = words["number"].format(number=self._numbers[task.id])
        return PageEntry(
            text=title,
            label=f"{label} {who}".rstrip() if self._language == "en" else f"{label}{who}",
            remark=words["apart"].join(filter(None, (state, after))),
            note=self._notes.mark("sources", task.sources),
        )

    def _state(self, task: Task) -> str:
        return self._words[self._decisions.get(task.assignee) or task.standing]

    def _open(self) -> tuple[Group, ...]:
        return tuple(residual_group(residual, self._notes) for residual in self._plan.residuals)

    def _residuals(self) -> tuple[Group, ...]:
        groups = (
            Group(heading=residual.title, ref=residual.id, entries=_other_lines(residual.tension, self._words))
            for residual in self._plan.residuals
        )
        return tuple(group for group in groups if group.entries)

    def _unused(self) -> tuple[Group, ...]:
        said: dict[str, list[PageEntry]] = {}
        for source in self._plan.unused:
            said.setdefault(speaker_of(source.id), []).append(PageEntry(text=source.text))
        gaps = said.pop("", [])
        groups = [Group(heading=alias, alias=alias, entries=tuple(entries)) for alias, entries in sorted(said.items())]
        if gaps:
            groups.append(Group(heading=self._words["unasked_gaps"], entries=tuple(gaps)))
        return tuple(groups)


def residual_group(residual: Residual, notes: Footnotes) -> Group:
    """Return the transition of a residual tension under its title."""
    told = PageEntry(text=residual.tension.transition, note=notes.mark("sources", residual.sources))
    return Group(heading=residual.title, ref=residual.id, entries=(told,))


def _other_lines(tension: Tension, words: Mapping[str, str]) -> tuple[PageEntry, ...]:
    """Return the lines of a residual tension other than T, without missing ones."""
    lines = [("I", tension.initial_state), *(("B", barrier) for barrier in tension.barriers), ("E", tension.exchange)]
    return tuple(PageEntry(label=words[name], text=text) for name, text in lines if MISSING not in text)


def step_name(plan: Plan, number: int, language: Language, *, whose: bool = True) -> str:
    """Return the name of a step for a sentence: its number and first words, after the assignee's alias if `whose`."""
    task = plan.tasks[number - 1]
    short = cut(task.title.strip(), _TITLE_UNITS[language]).rstrip(" ,.;:，、；：。")
    title = short if len(short) >= len(task.title.strip().rstrip(".。")) else quotes_closed(f"{short} …")
    name = "step_of" if whose and task.has_doer else "step"
    return _WORDS[language][name].format(who=task.assignee, number=number, title=title)


def words_of_people(known: Mapping[str, str], language: Language) -> str:
    """Return people with their words: `P01: grows oysters; P02: leads a choir`, in Chinese with brackets."""
    if language == "zh":
        return "；".join(f"{alias}（{words}）" if words else alias for alias, words in known.items())
    return "; ".join(f"{alias}: {words}" if words else alias for alias, words in known.items())
