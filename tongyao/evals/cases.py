"""A case: an intent, profiles, and what a careful reader expects of a good run (examples/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Draft

LinkKind = Literal["complementary", "aligned", "offsetting", "third_party_value", "contribution"]


class CaseError(ValueError):
    """The folder is no case; the message says which file is wrong, and how."""


class Link(Draft):
    """Something between two people (or, a contribution, of one) that is there to be found.

    `a_terms`, `b_terms`: literal parts of the first and the second one's profile; evidence shows one of each side.
    """

    id: str
    kind: LinkKind
    between: tuple[str, ...]
    a_terms: tuple[str, ...] = ()
    b_terms: tuple[str, ...] = ()
    by_round: int = 1
    about: str = ""


class Trap(Draft):
    id: str
    kind: Literal["false_relation", "surface_match", "invention"]
    between: tuple[str, ...]
    about: str = ""


class Wording(Draft):
    """Two ways of saying what may be one thing."""

    id: str
    between: tuple[str, str]
    a_terms: tuple[str, ...]
    b_terms: tuple[str, ...]


class Blank(Draft):
    """Something that nobody in the room has, or nobody looked at."""

    about: str
    kind: Literal["absent", "overlooked"]


class Expected(Draft):
    links: tuple[Link, ...] = ()
    traps: tuple[Trap, ...] = ()
    translations: tuple[Wording, ...] = ()
    gaps: tuple[Blank, ...] = ()


class Case(Draft):
    """One folder. `profiles`: by the ids that `expected` uses, in the order of `case.json`."""

    id: str
    title: str = ""
    language: Language
    intent: str
    demander_text: str = ""
    profiles: dict[str, str] = Field(default_factory=dict)
    expected: Expected = Expected()


def load(folder: Path) -> Case:
    """The case in `folder`. Raises `CaseError`."""
    try:
        about = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        expected = Expected.model_validate_json((folder / "expected.json").read_text(encoding="utf-8"))
        case = Case(
            id=about["id"],
            title=about.get("title", ""),
            language=about["language"],
            intent=about["intent"],
            demander_text=(folder / about["demander"]).read_text(encoding="utf-8") if about.get("demander") else "",
            profiles={
                name: (folder / "profiles" / f"{name}.md").read_text(encoding="utf-8") for name in about["participants"]
            },
            expected=expected,
        )
    except (OSError, KeyError, ValueError, ValidationError) as error:
        raise CaseError(f"{folder} is not a case (see examples/README.md): {error}") from error
    named = {who for link in expected.links for who in link.between} | {w for t in expected.traps for w in t.between}
    strangers = named - {*case.profiles, "demander"}
    if strangers:
        raise CaseError(f"{folder}/expected.json speaks of {', '.join(sorted(strangers))}, who are not in case.json")
    return case


def only(case: Case, names: tuple[str, ...]) -> Case:
    """`case` with these people alone, and what is expected among them. Raises `CaseError` for one who is not there."""
    if missing := [name for name in names if name not in case.profiles]:
        raise CaseError(f"{case.id} has no {', '.join(missing)}; it has {', '.join(case.profiles)}")
    here = {*names, "demander"}
    expected = case.expected
    return case.model_copy(
        update={
            "profiles": {name: case.profiles[name] for name in names},
            "expected": expected.model_copy(
                update={
                    "links": tuple(one for one in expected.links if set(one.between) <= here),
                    "traps": tuple(one for one in expected.traps if set(one.between) <= here),
                    "translations": tuple(one for one in expected.translations if set(one.between) <= here),
                }
            ),
        }
    )
