"""Converts stored texts of the old format to the current types, so that old records can be exported and erased. Pure.

The old format had a premise and a claim for each item, one verdict for each pair, and lists for contributions,
translations, gaps, ignored information, frameworks and value to third parties.
"""

from __future__ import annotations

import json
from typing import Any

from tongyao.protocol.model.ids import note_id, relation_id, speaker_of
from tongyao.protocol.model.observation import Observation
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.projection import Projection

Stored = dict[str, Any]


def read_projection(text: str) -> Projection:
    """Return the projection in a stored text of either format. The offsets of quotes, and the answers that name old ids,
    are dropped from a text of the old format."""
    stored = json.loads(text)
    return Projection.model_validate(_projection(stored) if "markdown" in stored else stored)


def read_observation(text: str) -> Observation:
    """Return the observation in a stored text of either format."""
    stored = json.loads(text)
    return Observation.model_validate(_observation(stored) if "pairs" in stored else stored)


def read_plan(text: str) -> Plan:
    """Return the plan in a stored text of any format. Ids of old observations in its sources are kept."""
    stored = json.loads(text)
    return Plan.model_validate(_plan(stored) if "panorama" in stored else _with_gains(stored))


def _projection(old: Stored) -> Stored:
    kept = {name: old[name] for name in ("round", "alias", "outcome", "struck", "author") if name in old}
    return kept | {"items": [_item(item) for item in old.get("items", []) if not item.get("repeated")]}


def _item(old: Stored) -> Stored:
    return {
        "id": old["id"],
        "kind": old["dimension"],
        "text": " ".join(filter(None, (old.get("premise", "").strip(), old["claim"].strip()))),
        "inferred": old.get("inferred", False),
        "about": list(old.get("targets", ())),
        "replaces": list(old.get("withdraws", ())),
    }


def _observation(old: Stored) -> Stored:
    number = old["round"]
    relations = [relation for pair in old["pairs"] for relation in _relations(pair, number)]
    relations += [
        {
            "between": (old_note["alias"], old_note["target"]),
            "kind": "complementary" if old_note["effect"] in ("dissolves", "helps") else "offsetting",
            "text": old_note["text"],
            "sources": old_note.get("sources", ()),
        }
        for old_note in old.get("contributions", [])
    ]
    looked_at = [(pair["a"], pair["b"]) for pair in old["pairs"] if _stated_now(pair, number)]
    return {
        "round": number,
        "verdict": old["verdict"],
        "relations": [{"id": relation_id(number, at)} | relation for at, relation in enumerate(relations, 1)],
        "none": [pair for pair in looked_at if pair not in {relation["between"] for relation in relations}],
        "notes": [{"id": note_id(number, at)} | note for at, note in enumerate(_notes(old), 1)],
        "words": old.get("markdown", ""),
        "struck": old.get("struck", 0),
    }


def _stated_now(pair: Stored, number: int) -> bool:
    return pair["relation"] != "not_examined" and not pair.get("carried") and pair["id"].startswith(f"R{number}/")


def _relations(pair: Stored, number: int) -> list[Stored]:
    """Return the relations that were stated for a pair in this round."""
    stated = [part for part in (pair, pair.get("second")) if part and part["relation"] in _KINDS]
    return [
        {
            "between": (pair["a"], pair["b"]),
            "kind": part["relation"],
            "text": part.get("text", ""),
            "sources": part.get("sources", ()),
        }
        for part in stated
        if _stated_now(pair, number)
    ]


def _plan(old: Stored) -> Stored:
    kept = ("revision", "language", "residuals", "offsets", "reduced", "removed", "markdown")
    tasks = list(old.get("tasks", []))
    for role in old.get("roles", []):
        told = {source for task in tasks if task["assignee"] == role["alias"] for source in task.get("sources", ())}
        for claim in role.get("contributions", []):
            sources = claim.get("sources", ())
            if not told.intersection(sources):
                task = {"id": f"t{len(tasks) + 1}", "title": claim["text"], "assignee": role["alias"]}
                tasks.append(task | {"sources": sources})
    gains = [claim for role in old.get("roles", []) for claim in role.get("benefits", [])]
    return {name: old[name] for name in kept if name in old} | {
        "possible": [*old.get("about", []), *old["panorama"], *old.get("order", []), *gains],
        "roles": [
            {
                "alias": role["alias"],
                "role": role["role"],
                "conditions": [*role.get("costs", []), *role.get("dependencies", [])],
            }
            for role in old.get("roles", [])
        ],
        "tasks": tasks,
        "remarks": [*old.get("remarks", []), *old.get("open_points", [])],
        "references": [_source(source) for source in old.get("references", [])],
        "unused": [_source(source) for source in old.get("unused", [])],
    }


def _with_gains(stored: Stored) -> Stored:
    """Return a plan whose `possible` also has the benefits that an earlier format kept with each role."""
    gains = [claim for role in stored.get("roles", []) for claim in role.pop("benefits", [])]
    return stored | {"possible": [*stored.get("possible", []), *gains]}


def _source(old: Stored) -> Stored:
    return {"id": old["id"], "text": old.get("text", "")}


_KINDS = ("complementary", "aligned", "offsetting")


def _notes(old: Stored) -> list[Stored]:
    notes: list[Stored] = [
        {
            "kind": "translation",
            "text": f"{old_note['a']} “{old_note['a_words']}”, {old_note['b']} “{old_note['b_words']}”: {old_note['text']}",
            "about": (old_note["a"], old_note["b"]),
            "sources": old_note.get("sources", ()),
        }
        for old_note in old.get("translations", [])
    ]
    for old_note in old.get("gaps", []):
        sources = old_note.get("sources", ())
        asked = next(filter(None, map(speaker_of, sources)), "") if old_note["kind"] == "overlooked" else ""
        about = (old_note["target"],) if old_note["target"] else ()
        notes.append({"kind": "gap", "text": old_note["text"], "about": about, "sources": sources, "asks": asked})
    for kind, name in (("ignored", "ignored"), ("framework", "frameworks"), ("third_party", "third_party_value")):
        for old_note in old.get(name, []):
            title = f"{old_note['name']}: " if old_note.get("name") else ""
            sources = old_note.get("sources", ())
            notes.append(
                {
                    "kind": kind,
                    "text": f"{title}{old_note['text']}",
                    "about": old_note.get("about", ()),
                    "sources": sources,
                }
            )
    return notes
