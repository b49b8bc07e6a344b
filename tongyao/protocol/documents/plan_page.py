"""A plan laid out for somebody who reads nothing else (docs/plans.md). Pure.

The order: what this is about; what is possible now; who would do what, for what, on which condition; what stands against
it; what stayed open; what happens first; what was said and not used; how it was answered, where that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tongyao.protocol.documents.footnotes import Footnotes
from tongyao.protocol.documents.page import Entry, Group, Page, Section, markdown
from tongyao.protocol.documents.plan_answers import GivenAnswer, answers_section, earlier_answers_sections
from tongyao.protocol.documents.to_reader import addressed
from tongyao.protocol.model.plan import OUTSIDE, Claim, Plan, Residual, Role, Task, speakers
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.record import EarlierAnswer
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.sizes import cut, quotes_closed
from tongyao.protocol.model.tension import MISSING

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "title": "The plan",
        "revision": "The plan, version {revision}",
        "about": "What this is about",
        "possible": "What is possible now that was not before",
        "roles": "Who would do what, for what, on which condition",
        "roles_lead": "Nothing here is promised until those concerned commit.",
        "against": "What stands against it",
        "lacking": "What stayed open",
        "first": "What happens first, and what after it",
        "unused": "Also said in the rounds, and not used above",
        "unused_lead": "Facts that nothing in this plan rests on. They may still matter to whoever acts on it.",
        "notes": "Sources",
        "people": "People are called by aliases.",
        "demander": "brought this",
        "bare": "took part in the rounds",
        "unheard": "said nothing in the rounds",
        "gone": "was erased",
        "contributions": "Does:",
        "benefits": "Gets:",
        "costs": "Costs, and does not do:",
        "dependencies": "Only if:",
        "silent": "The rounds gave no part to this person.",
        "changes": "What is wanted:",
        "stands": "How things stand:",
        "hinders": "In the way:",
        "exchange": "In return:",
        "open": "Still open when the rounds ended",
        "agreed": "{who}; both sides said so",
        "offered": "{who} offered it; not agreed",
        "commit": "{who} has committed to this plan",
        "decline": "{who} has declined this plan",
        "propose": "{who} has proposed a change of this plan",
        "erased": "{who} was erased; nothing is agreed",
        "decides": "for {who} to decide; not answered yet",
        "asked": "a question to {who}; not answered yet",
        "unasked": "{who} has not offered it; nobody has asked yet",
        "nobody": "nobody is there for it",
        "outside": "somebody outside this room: {who}",
        "outside_unknown": "somebody outside this room",
        "after": "waits for {steps}",
        "because": "{who} needs this first: {needed}",
        "step": "step {number} ({title})",
        "step_of": "{who}, step {number} ({title})",
        "reduced": "Assembled from the record: no plan could be read from the engine's answer.",
        "removed": "What rested on the words of {who} was removed from this plan: {who} was erased.",
        "and": ", ",
        "apart": "; ",
    },
    "zh": {
        "title": "方案",
        "revision": "方案，第 {revision} 版",
        "about": "这是怎么一回事",
        "possible": "现在可能、原来做不到的",
        "roles": "谁做什么，得到什么，有什么条件",
        "roles_lead": "有关的人接下之前，这里没有一件事是定下的。",
        "against": "有什么挡着",
        "lacking": "没有解开的",
        "first": "先做什么，后做什么",
        "unused": "各轮里还说过、上面没有用到的",
        "unused_lead": "方案里没有一句话以这些事实为依据。照方案去做的人仍可能用得着。",
        "notes": "出处",
        "people": "参与的人都用代号。",
        "demander": "提出这件事的人",
        "bare": "参加过各轮",
        "unheard": "各轮里没有说过什么",
        "gone": "资料已被抹去",
        "contributions": "做的：",
        "benefits": "得到：",
        "costs": "付出的、不做的：",
        "dependencies": "条件：",
        "silent": "各轮里没有落到他身上的事。",
        "changes": "要找的：",
        "stands": "眼下：",
        "hinders": "挡着的：",
        "exchange": "可以换的：",
        "open": "各轮结束时还开着的",
        "agreed": "{who}；双方都说过",
        "offered": "{who} 提出的，还没有谈定",
        "commit": "{who} 已经接下这份方案",
        "decline": "{who} 不接这份方案",
        "propose": "{who} 对这份方案提了修改",
        "erased": "{who} 已抹去，没有谈定",
        "decides": "要 {who} 来定，还没有答",
        "asked": "向 {who} 提的问题，还没有答",
        "unasked": "{who} 没有说过愿意，也还没有人问过他",
        "nobody": "还没有人做",
        "outside": "在场以外的人：{who}",
        "outside_unknown": "在场以外的人",
        "after": "要等 {steps}",
        "because": "{who} 要先有：{needed}",
        "step": "第 {number} 步（{title}）",
        "step_of": "{who} 的第 {number} 步（{title}）",
        "reduced": "由记录直接拼成：引擎的回答无法读取。",
        "removed": "{who} 的资料已被抹去，本方案中以其原话为依据的内容已经移除。",
        "and": "、",
        "apart": "；",
    },
}

_TITLE_UNITS: Final[Mapping[Language, int]] = {"en": 10, "zh": 20}
"""How much of a step is repeated where another one waits for it."""


def plan_markdown(plan: Plan, answers: Sequence[GivenAnswer] = (), earlier: Sequence[EarlierAnswer] = ()) -> str:
    """The whole plan as Markdown."""
    return markdown(plan_page(plan, answers, earlier))


def plan_page(
    plan: Plan, answers: Sequence[GivenAnswer] = (), earlier: Sequence[EarlierAnswer] = (), *, reader: str = ""
) -> Page:
    """The whole plan as a page; empty sections are left out. `reader`: the alias of whom it calls "you".

    Section kinds: `about`, `possible`, `roles`, `against`, `lacking`, `first`, `unused`, `answers`, `answers_before`.
    `answers`: of everybody who is asked. `earlier`: to the plans that this one replaced.
    """
    return addressed(_Layout(plan, answers, earlier, reader).page(), reader)


def people(plan: Plan, language: Language) -> dict[str, str]:
    """Everybody a reader of the plan meets, by alias, with the words that tell them from all others."""
    return {DEMANDER: _WORDS[language]["demander"], **{role.alias: role.role for role in plan.roles if role.role}}


class _Layout:
    def __init__(
        self, plan: Plan, answers: Sequence[GivenAnswer], earlier: Sequence[EarlierAnswer], reader: str
    ) -> None:
        self._plan, self._answers, self._earlier = plan, answers, earlier
        self._decisions = {one.alias: one.decision for one in answers if one.decision}
        language: Language = "zh" if plan.language == "zh" else "en"
        self._language, self._words = language, _WORDS[language]
        self._notes = Footnotes(language, plan.references, reader=reader)

    def page(self) -> Page:
        plan, words = self._plan, self._words
        remarks = list(plan.remarks)
        if plan.removed:
            remarks.append(words["removed"].format(who=words["and"].join(plan.removed)))
        if plan.reduced:
            remarks.append(words["reduced"])
        sections = (
            Section(kind="about", heading=words["about"], groups=self._about()),
            Section(kind="possible", heading=words["possible"], groups=self._claims(plan.panorama)),
            Section(kind="roles", heading=words["roles"], lead=words["roles_lead"], groups=self._roles()),
            Section(kind="against", heading=words["against"], groups=self._claims(plan.offsets)),
            Section(kind="lacking", heading=words["lacking"], groups=self._lacking()),
            Section(kind="first", heading=words["first"], groups=self._steps()),
            Section(kind="unused", heading=words["unused"], lead=words["unused_lead"], groups=self._unused()),
        )
        answered = [answers_section(self._answers, self._language)]
        answered += earlier_answers_sections(self._earlier, self._language)
        return Page(
            language=self._language,
            title=words["title"] if plan.revision == 1 else words["revision"].format(revision=plan.revision),
            remarks=tuple(remarks),
            sections=tuple(section for section in (*sections, *answered) if section is not None and section.groups),
            notes_heading=words["notes"],
            notes=self._notes.notes(),
        )

    def _about(self) -> tuple[Group, ...]:
        known = people(self._plan, self._language)
        known |= {role.alias: self._words["bare"] for role in self._plan.roles if not role.role}
        known |= {
            one.alias: self._words["gone" if one.decision == "erased" or one.alias in self._plan.removed else "unheard"]
            for one in self._answers
            if one.alias not in known
        }
        met = (Entry(text=self._words["people"]), *introduced(dict(sorted(known.items())), self._language))
        return (*self._claims(self._plan.about), Group(entries=met))

    def _claims(self, claims: Iterable[Claim]) -> tuple[Group, ...]:
        entries = tuple(self._entry(claim) for claim in claims)
        return (Group(entries=entries),) if entries else ()

    def _entry(self, claim: Claim, label: str = "") -> Entry:
        return Entry(text=claim.text, label=label, note=self._notes.of_claim(claim))

    def _roles(self) -> tuple[Group, ...]:
        return tuple(self._role(role) for role in self._plan.roles)

    def _role(self, role: Role) -> Group:
        words = self._words
        entries = [
            self._entry(claim, words[name])
            for name in ("contributions", "benefits", "costs", "dependencies")
            for claim in getattr(role, name)
        ]
        heading = words_of_people({role.alias: role.role}, self._language)
        tier = "" if not role.tier else f"（{role.tier}）" if self._zh else f" ({role.tier})"
        return Group(
            heading=f"{heading}{tier}", alias=role.alias, entries=tuple(entries or [Entry(text=words["silent"])])
        )

    def _lacking(self) -> tuple[Group, ...]:
        groups = [self._residual(residual) for residual in self._plan.residuals]
        if self._plan.open_points:
            points = tuple(Entry(text=point) for point in self._plan.open_points)
            groups.append(Group(heading=self._words["open"], entries=points))
        return tuple(groups)

    def _residual(self, residual: Residual) -> Group:
        return Group(
            heading=residual.title,
            ref=residual.id,
            entries=residual_entries(residual, self._language, self._notes, before=self._said()),
        )

    def _said(self) -> str:
        """What the page says of the tension before its residuals: a residual need not say it again."""
        return "\n".join(claim.text for claim in self._plan.about)

    def _steps(self) -> tuple[Group, ...]:
        numbers = {task.id: number for number, task in enumerate(self._plan.tasks, 1)}
        steps = tuple(
            Entry(
                text=self._step_text(task),
                label=f"{task.assignee}{'：' if self._zh else ':'}" if task.has_doer else "",
                remark=self._standing(task, numbers),
                note=self._notes.mark("sources", task.sources),
            )
            for task in self._plan.tasks
        )
        groups = (Group(entries=steps, ordered=True),) if steps else ()
        return (*groups, *self._claims(self._plan.order))

    def _unused(self) -> tuple[Group, ...]:
        said: dict[str, list[Entry]] = {}
        for one in self._plan.unused:
            said.setdefault(one.id.split("/")[1], []).append(Entry(text=one.premise or one.text))
        roles = {role.alias: role.role for role in self._plan.roles}
        return tuple(
            Group(
                heading=words_of_people({alias: roles.get(alias, "")}, self._language),
                alias=alias,
                entries=tuple(entries),
            )
            for alias, entries in sorted(said.items())
        )

    def _step_text(self, task: Task) -> str:
        ends = (
            ""
            if task.title.rstrip().endswith((".", "。", "!", "?", "！", "？", "」", "”"))
            else "。"
            if self._zh
            else "."
        )
        title, when = task.title.strip(), task.when.strip()
        if when:
            title = f"{title.rstrip('.。')}（{when}）" if self._zh else f"{title.rstrip('.')} ({when})"
            ends = "。" if self._zh else "."
        return f"{title}{ends}"

    def _standing(self, task: Task, numbers: Mapping[str, int]) -> str:
        """Who does it, whether that is agreed or was answered, and after which steps."""
        words = self._words
        if task.assignee == OUTSIDE:
            who = words["outside" if task.outside else "outside_unknown"].format(who=task.outside)
        elif not task.has_doer:
            who = words["nobody"]
        else:
            decision = self._decisions.get(task.assignee) if task.standing != "asked" else None  # a question stays one
            who = words[decision or task.standing].format(who=task.assignee)
        steps = [step_name(self._plan, numbers[one], self._language) for one in task.prerequisites if one in numbers]
        after = [words["after"].format(steps=words["and"].join(steps))] if steps else []
        needed = [one.rstrip(".。") for one in needed_first(self._plan, task)]
        because = [words["because"].format(who=task.assignee, needed=words["and"].join(needed))] if needed else []
        return words["apart"].join([who, *after, *because])

    @property
    def _zh(self) -> bool:
        return self._language == "zh"


def needed_first(plan: Plan, task: Task) -> list[str]:
    """Why a task waits for those of others: what its assignee depends on and these others said."""
    before = {one.assignee for one in plan.tasks if one.id in task.prerequisites} - {task.assignee}
    return [
        claim.text
        for role in plan.roles
        for claim in role.dependencies
        if role.alias == task.assignee and before & speakers(claim.sources)
    ]


def step_name(plan: Plan, number: int, language: Language, *, whose: bool = True) -> str:
    """A step as another one names it: its number and first words, before them `whose` it is."""
    task = plan.tasks[number - 1]
    short = cut(task.title.strip(), _TITLE_UNITS[language]).rstrip(" ,.;:，、；：。")
    title = short if len(short) >= len(task.title.strip().rstrip(".。")) else quotes_closed(f"{short} …")
    name = "step_of" if whose and task.has_doer else "step"
    return _WORDS[language][name].format(who=task.assignee, number=number, title=title)


def residual_entries(
    residual: Residual, language: Language, notes: Footnotes, *, before: str = ""
) -> tuple[Entry, ...]:
    """A residual's tension, line by line, without what is missing and without lines that `before` holds word for word, cut or whole."""
    words, tension = _WORDS[language], residual.tension
    lines = [("changes", tension.transition), ("stands", tension.initial_state)]
    lines += [("hinders", barrier) for barrier in tension.barriers]
    lines.append(("exchange", tension.exchange))
    told = [
        (words[name], text)
        for name, text in lines
        if MISSING not in text and text.strip().removesuffix("…") not in before
    ]
    note = notes.mark("sources", residual.sources)
    return tuple(Entry(label=label, text=text, note=note if at == 0 else 0) for at, (label, text) in enumerate(told))


def introduced(known: Mapping[str, str], language: Language) -> tuple[Entry, ...]:
    """One line for each person: the alias, and the words that tell them from all others."""
    return tuple(
        Entry(label=f"{alias}{'：' if language == 'zh' else ':'}", text=words) for alias, words in known.items()
    )


def words_of_people(known: Mapping[str, str], language: Language) -> str:
    """`P01: grows oysters; P02: leads a choir`; `P01（养牡蛎）；P02（带合唱团）`."""
    if language == "zh":
        return "；".join(f"{alias}（{words}）" if words else alias for alias, words in known.items())
    return "; ".join(f"{alias}: {words}" if words else alias for alias, words in known.items())
