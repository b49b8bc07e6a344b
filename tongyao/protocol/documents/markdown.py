"""Tension, projections and observations as Markdown for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from tongyao.protocol.model.observation import Basis, Effect, GapKind, Note, Observation, Pair, Relation, Verdict
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, Tension

_RELATIONS: Final = {
    "en": {
        Relation.COMPLEMENTARY: "complementary",
        Relation.ALIGNED: "aligned",
        Relation.OFFSETTING: "offsetting",
    },
    "zh": {Relation.COMPLEMENTARY: "互补", Relation.ALIGNED: "同向", Relation.OFFSETTING: "对冲"},
}
_DIMENSIONS: Final = {
    "en": {Dimension.CAPABILITY: "Capability", Dimension.DIRECTION: "Direction", Dimension.BOUNDARY: "Boundary"},
    "zh": {Dimension.CAPABILITY: "能力", Dimension.DIRECTION: "方向", Dimension.BOUNDARY: "边界"},
}
_NOTHING_NEW: Final = {"en": "I have nothing new.", "zh": "我没有新的信息了。"}
_STANDING: Final = {
    "en": {
        "carried": "### Relations that stand from earlier rounds",
        "inferred": "### Read out of what was said; nobody said it in so many words",
        "line": "- {a} and {b}, {relation} (round {round}): {text}",
    },
    "zh": {
        "carried": "### 沿用前几轮的关系",
        "inferred": "### 推断：由说过的话读出，没有人直接这样说",
        "line": "- {a} 与 {b}，{relation}（第 {round} 轮）：{text}",
    },
}


_NONE_FOUND: Final = {"en": {}, "zh": {Relation.NONE_FOUND: "没有发现关系", Relation.NOT_EXAMINED: "没有看"}}
_OUTCOMES: Final = {
    "en": {one: one.value for one in Outcome},
    "zh": {
        Outcome.REPLIED: "答了",
        Outcome.NOTHING_NEW: "没有新的",
        Outcome.LAPSED: "过期",
        Outcome.FAILED: "失败",
        Outcome.LEFT: "已退出",
    },
}
_VERDICTS: Final = {
    "en": {one: one.value for one in Verdict},
    "zh": {Verdict.MORE: "还有新的", Verdict.EXHAUSTED: "没有新的了"},
}
_EFFECTS: Final = {
    "en": {one: one.value for one in Effect},
    "zh": {Effect.DISSOLVES: "化解", Effect.HELPS: "有帮助", Effect.COLLIDES: "有冲突", Effect.WORSENS: "加重"},
}
_GAPS: Final = {
    "en": {one: one.value for one in GapKind},
    "zh": {GapKind.OVERLOOKED: "没有看到", GapKind.ABSENT: "没有"},
}
_WORDS: Final = {
    "en": {
        "projection": "# {alias}, round {round}: {outcome}",
        "inferred_from": "inferred from {what}",
        "the_whole": "the whole",
        "answers": ", answers {what}",
        "withdraws": ", takes back {what}",
        "repeated": ", repeated",
        "nothing_new": "Nothing new.",
        "observation": "# Catalyst, round {round}: {verdict}",
        "pairs": "Pairs",
        "also": " Also **{relation}** {text}",
        "contributions": "Contributions",
        "translations": "Translations",
        "gaps": "Gaps",
        "ignored": "Ignored information",
        "frameworks": "Frameworks",
        "third": "Value to a third",
        "carried": ", carried from round {round}",
        "hedge": " (inferred)",
    },
    "zh": {
        "projection": "# {alias}，第 {round} 轮：{outcome}",
        "inferred_from": "推断，起点 {what}",
        "the_whole": "整体",
        "answers": "，回应 {what}",
        "withdraws": "，收回 {what}",
        "repeated": "，重复",
        "nothing_new": "没有新的。",
        "observation": "# 催化者，第 {round} 轮：{verdict}",
        "pairs": "两两之间",
        "also": " 同时**{relation}** {text}",
        "contributions": "对张力的作用",
        "translations": "换个说法",
        "gaps": "缺口",
        "ignored": "没有人回应的信息",
        "frameworks": "框架",
        "third": "对第三方的价值",
        "carried": "，沿用第 {round} 轮",
        "hedge": "（推断）",
    },
}
Language = Literal["zh", "en"]


_LENSES: Final = {
    "en": {"T": "the change", "I": "the situation", "B": "in the way", "E": "given in return"},
    "zh": {"T": "想要的变化", "I": "现状", "B": "阻碍", "E": "能给的"},
}


def standing_markdown(language: Literal["zh", "en"], pairs: Iterable[Pair]) -> str:
    """Of these pairs the relations that are carried from earlier rounds, and those that are inferred; empty without any."""
    says, words = _STANDING[language], _RELATIONS[language]
    related = [pair for pair in pairs if pair.relation.related]
    groups = (
        ("carried", [pair for pair in related if pair.carried and pair.basis is Basis.STATED]),
        ("inferred", [pair for pair in related if pair.basis is Basis.INFERRED]),
    )
    parts = []
    for title, members in groups:
        lines = [
            says["line"].format(
                a=pair.a,
                b=pair.b,
                relation=" + ".join(words[one] for one in pair.relations),
                round=pair.stated_in,
                text=" ".join(pair.whole_text.split()),
            )
            for pair in members
        ]
        if lines:
            parts.append("\n".join((says[title], "", *lines)))
    return "\n\n".join(parts)


def tension_markdown(tension: Tension, language: str = "en") -> str:
    """The four lenses and the audit of their sufficiency."""
    zh = language == "zh"
    missing, grade = ", ".join(tension.audit.missing()), tension.grade.value
    title = f"# 张力（评级 {grade}）" if zh else f"# Tension (grade {grade})"
    words = _LENSES["zh" if zh else "en"]
    if zh:
        tension = _with_words_for_missing(tension)
    lines = [title, "", f"- **T** ({words['T']}) {tension.transition}"]
    lines.append(f"- **I** ({words['I']}) {tension.initial_state}")
    lines += [f"- **B{number}** ({words['B']}) {barrier}" for number, barrier in enumerate(tension.barriers, 1)]
    lines += [
        f"- **E** ({words['E']}) {tension.exchange}",
        "",
        f"不足（没有说，或者说得太少）：{missing or '没有'}。长度：{tension.units} 字（英文按词），上限 {TENSION_UNITS}。"
        if zh
        else f"Insufficient (not said, or too little): {missing or 'none'}. "
        f"Length: {tension.units} of at most {TENSION_UNITS} words (Chinese: characters).",
    ]
    return "\n".join(lines) + "\n"


def _with_words_for_missing(tension: Tension) -> Tension:
    def worded(text: str) -> str:
        return "（没有说）" if text == MISSING else text

    parts = {name: worded(getattr(tension, name)) for name in ("transition", "initial_state", "exchange")}
    return tension.model_copy(update={**parts, "barriers": tuple(map(worded, tension.barriers))})


def note_names(observations: Iterable[Observation]) -> dict[str, str]:
    """The names that the catalyst gave to frameworks and other notes, by id: later turns cite the ids."""
    return {
        note.id: note.name
        for seen in observations
        for note in (*seen.frameworks, *seen.ignored, *seen.third_party_value)
        if note.name
    }


def projection_markdown(
    projection: Projection, names: Mapping[str, str] | None = None, language: Language = "en"
) -> str:
    """Items by dimension, each with its id, targets and spans; then what was said word for word.

    `names`: of notes that items cite (`note_names`).
    """

    def cited(ids: Iterable[str]) -> str:
        return ", ".join(f"{id} “{names[id]}”" if names and id in names else id for id in ids)

    words, outcome = _WORDS[language], _OUTCOMES[language][projection.outcome]
    lines = [words["projection"].format(alias=projection.alias, round=projection.round, outcome=outcome), ""]
    for dimension in Dimension:
        items = [item for item in projection.items if item.dimension is dimension]
        if not items:
            continue
        lines += [f"## {_DIMENSIONS[language][dimension]}", ""]
        for item in items:
            spans = ", ".join(f"{span.source}[{span.start}:{span.end}]" for span in item.spans)
            start = cited(item.starts_from) or words["the_whole"]
            basis = spans or (words["inferred_from"].format(what=start) if item.inferred else "")
            targets = f" → {', '.join(item.targets)}" if item.targets else ""
            answers = words["answers"].format(what=cited(item.answers)) if item.answers else ""
            answers += words["withdraws"].format(what=cited(item.withdraws)) if item.withdraws else ""
            repeated = words["repeated"] if item.repeated else ""
            lines.append(f"- `{item.id}`{targets} {item.statement} _({basis}{answers}{repeated})_")
            lines += [f"  - {step}" for step in item.mapping]
        lines.append("")
    if projection.markdown.strip():
        lines += ["---", "", projection.markdown.strip(), ""]
    if projection.outcome is Outcome.NOTHING_NEW and not projection.items:
        lines.append(words["nothing_new"])
    return "\n".join(lines).strip() + "\n"


def items_markdown(items: Iterable[Item], language: Literal["zh", "en"]) -> str:
    """What a proxy said, for people: its items under the names of their dimensions; without any, that there is nothing new."""
    said = list(items)
    parts = []
    for dimension in Dimension:
        lines = [f"- {item.statement}" for item in said if item.dimension is dimension]
        if lines:
            parts.append("\n".join((f"### {_DIMENSIONS[language][dimension]}", "", *lines)))
    return "\n\n".join(parts) or _NOTHING_NEW[language]


def observation_markdown(observation: Observation, language: Language = "en") -> str:
    """The verdict and the catalyst's own text; then all pairs and everything else it made visible, each with id and sources."""
    words, verdict = _WORDS[language], _VERDICTS[language][observation.verdict]
    lines = [words["observation"].format(round=observation.round, verdict=verdict), ""]
    if observation.markdown.strip():
        lines += [observation.markdown.strip(), "", "---", ""]
    lines += [f"## {words['pairs']}", ""]
    lines += [
        f"- `{pair.id}` {pair.a} – {pair.b}: **{_related(pair.relation, language)}**{_standing(pair, language)} {pair.text}{_cite(pair.sources)}"
        + (
            words["also"].format(relation=_related(second.relation, language), text=second.text) + _cite(second.sources)
            if (second := pair.second)
            else ""
        )
        for pair in observation.pairs
    ]
    sections: list[tuple[str, list[str]]] = [
        (
            words["contributions"],
            [
                f"`{c.id}` {c.alias} {_EFFECTS[language][c.effect]} {c.target}{_hedge(c.basis, language)}: {c.text}{_cite(c.sources)}"
                for c in observation.contributions
            ],
        ),
        (
            words["translations"],
            [
                f"`{t.id}` {t.a} “{t.a_words}” / {t.b} “{t.b_words}”: {t.text}{_cite(t.sources)}"
                for t in observation.translations
            ],
        ),
        (
            words["gaps"],
            [f"`{g.id}` {g.target} ({_GAPS[language][g.kind]}): {g.text}{_cite(g.sources)}" for g in observation.gaps],
        ),
        (words["ignored"], [_note(note) for note in observation.ignored]),
        (words["frameworks"], [_note(note) for note in observation.frameworks]),
        (words["third"], [_note(note) for note in observation.third_party_value]),
    ]
    for title, entries in sections:
        if entries:
            lines += ["", f"## {title}", "", *(f"- {entry}" for entry in entries)]
    return "\n".join(lines) + "\n"


def _note(note: Note) -> str:
    name = f" **{note.name}**" if note.name else ""
    about = f" ({', '.join(note.about)})" if note.about else ""
    return f"`{note.id}`{name}{about} {note.text}{_cite(note.sources)}"


def _related(relation: Relation, language: Language) -> str:
    return {**_RELATIONS[language], **_NONE_FOUND[language]}.get(relation, relation.value)


def _standing(pair: Pair, language: Language) -> str:
    """What a reader must know of a relation besides its kind: that it is inferred, that it was not examined anew."""
    carried = _WORDS[language]["carried"].format(round=pair.stated_in) if pair.carried else ""
    return f"{_hedge(pair.basis, language)}{carried}" if pair.relation.related else carried


def _hedge(basis: Basis, language: Language) -> str:
    return _WORDS[language]["hedge"] if basis is Basis.INFERRED else ""


def _cite(sources: Iterable[str]) -> str:
    named = ", ".join(sources)
    return f" ({named})" if named else ""
