"""Tension, projections and observations as Markdown for people. Pure."""

from __future__ import annotations

from typing import Final

from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind, Verdict
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import Language, known_language
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, Tension
from tongyao.texts.catalogue import table

_WORDS: Final = table("protocol", "record")
_LENSES: Final = table("protocol", "lines")
_NAMES: Final = table("protocol", "names")


def tension_markdown(tension: Tension, language: str = "en") -> str:
    """Return the four lenses, the grade and the missing lenses."""
    told = known_language(language)
    words, missing = _LENSES[told], ", ".join(tension.audit.missing()) or _LENSES[told]["nothing"]
    lines = [words["title"].format(grade=tension.grade.value), ""]
    for name, text in zip(tension.target_names(), tension.lines(), strict=True):
        said = words["missing"] if text == MISSING else text
        lines.append(f"- **{name}** ({words[name[0]]}) {said}")
    lines += ["", words["size"].format(missing=missing, units=tension.units, limit=TENSION_UNITS)]
    return "\n".join(lines) + "\n"


def projection_markdown(projection: Projection, language: Language = "en") -> str:
    """Return every item with its id, kind, quotes and references."""
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
    """Return the verdict and the words for the participants, then all statements of the round with ids and sources."""
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
