"""Written cases: an intent, profiles, and the expected findings (examples/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Draft

LinkKind = Literal["complementary", "aligned", "offsetting", "third_party_value", "contribution"]


class CaseError(ValueError):
    """The folder contains no valid case. The message names the file and its error."""


class Link(Draft):
    """A relation between two people, or a person's contribution, that a run should find. `by_round`: the latest round
    in which it should be found.

    `a_terms`, `b_terms`: literal parts of the first and the second person's profile. Evidence must contain a term of
    each.
    """

    id: str
    kind: LinkKind
    between: tuple[str, ...]
    a_terms: tuple[str, ...] = ()
    b_terms: tuple[str, ...] = ()
    by_round: int = 1
    about: str = ""


class Trap(Draft):
    """A finding that would be wrong."""

    id: str
    kind: Literal["false_relation", "surface_match", "invention"]
    between: tuple[str, ...]
    about: str = ""


class ExpectedTranslation(Draft):
    """Two wordings of the same thing that the catalyst should connect."""

    id: str
    between: tuple[str, str]
    a_terms: tuple[str, ...]
    b_terms: tuple[str, ...]


class Expected(Draft):
    links: tuple[Link, ...] = ()
    traps: tuple[Trap, ...] = ()
    translations: tuple[ExpectedTranslation, ...] = ()


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
    """Read the case in `folder`. Raises `CaseError`."""
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
        raise CaseError(f"{folder}/expected.json names people who are not in case.json: {', '.join(sorted(strangers))}")
    return case


def only(case: Case, names: tuple[str, ...]) -> Case:
    """`case` with only these people, and the findings expected among them. Raises `CaseError` for an unknown name."""
    if missing := [name for name in names if name not in case.profiles]:
        raise CaseError(f"{case.id} has no people called {', '.join(missing)}; it has {', '.join(case.profiles)}")
    here = {*names, "demander"}
    expected = case.expected
    return case.model_copy(
        update={
            "profiles": {name: case.profiles[name] for name in names},
            "expected": expected.model_copy(
                update={
                    "links": tuple(link for link in expected.links if set(link.between) <= here),
                    "traps": tuple(trap for trap in expected.traps if set(trap.between) <= here),
                    "translations": tuple(
                        translation for translation in expected.translations if set(translation.between) <= here
                    ),
                }
            ),
        }
    )
