"""Tension, projections and observations as Markdown for people. Pure."""

from __future__ import annotations

from typing import Final

from tongyao.protocol.documents.texts import table
from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind, Verdict
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, Tension

_WORDS: Final = table("record")
_LENSES: Final = table("lines")
_NAMES: Final = table("names")


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


def projection_markdown(projection: Projection, language: Language = "en") -> str:
    """Every item with its id, kind, quotes and what it is about."""
    words, outcome = _WORDS[language], _named(projection.outcome, language)
    lines = [words["projection"].format(alias=projection.alias, round=projection.round, outcome=outcome), ""]
    lines += [_item(item, language) for item in projection.items]
    if projection.outcome is Outcome.NOTHING_NEW and not projection.items:
        lines.append(words["nothing_new"])
    return "\n".join(lines).strip() + "\n"


def _item(item: Item, language: Language) -> str:
    words = _WORDS[language]
    kind = f" **{_named(item.kind, language)}**" if item.kind else ""
    notes = [
        words["inferred"] if item.inferred else "",
        words["about"].format(ids=", ".join(item.about)) if item.about else "",
        words["replaces"].format(ids=", ".join(item.replaces)) if item.replaces else "",
        words["quotes"].format(quotes=words["quote"].join(item.quotes)) if item.quotes else "",
    ]
    told = words["apart"].join(filter(None, notes))
    return f"- `{item.id}`{kind} {item.text}" + (f" _({told})_" if told else "")


def observation_markdown(observation: Observation, language: Language = "en") -> str:
    """The verdict and the words for the participants, then everything that the round states, each with id and sources."""
    words, verdict = _WORDS[language], _named(observation.verdict, language)
    lines = [words["observation"].format(round=observation.round, verdict=verdict), ""]
    lines += [text for part in (observation.why, observation.words) if part.strip() for text in (part.strip(), "")]
    sections = (
        ("relations", [_statement(relation, language) for relation in observation.relations]),
        ("none", [f"{a} – {b}" for a, b in observation.none]),
        ("notes", [_statement(note, language) for note in observation.notes]),
        ("ended", [f"`{ended.id}` {ended.why}" for ended in observation.ended]),
    )
    for title, entries in sections:
        if entries:
            lines += [f"## {words[title]}", "", *(f"- {entry}" for entry in entries), ""]
    return "\n".join(lines).strip() + "\n"


def _statement(statement: Relation | Note, language: Language) -> str:
    words = _WORDS[language]
    about = " – ".join(statement.between) if isinstance(statement, Relation) else ", ".join(statement.about)
    asks = words["asks"].format(who=statement.asks) if isinstance(statement, Note) and statement.asks else ""
    replaces = words["replaces"].format(ids=", ".join(statement.replaces)) if statement.replaces else ""
    cited = "".join(f" ({part})" for part in (", ".join(statement.sources), replaces) if part)
    kind = _named(statement.kind, language)
    return f"`{statement.id}` **{kind}** {about}{asks}: {statement.text}{cited}"


def _named(word: Outcome | Verdict | ItemKind | RelationKind | NoteKind, language: Language) -> str:
    return _NAMES[language][word]
