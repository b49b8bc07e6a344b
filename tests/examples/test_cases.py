"""The written cases keep their word: what `expected.json` refers to is there (examples/README.md)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2] / "examples"
CASES = sorted(path.parent for path in ROOT.rglob("case.json"))
EVAL_CASES = [case for case in CASES if case.parent.name == "cases"]

LINKS = {"complementary", "aligned", "offsetting", "third_party_value", "contribution"}
TRAPS = {"false_relation", "surface_match", "invention"}


def read(case: Path, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((case / name).read_text(encoding="utf-8"))
    return loaded


def texts(case: Path) -> dict[str, str]:
    """Every text that a link may quote: the profiles by id, and the demander's profile with the intent."""
    about = read(case, "case.json")
    found = {path.stem: path.read_text(encoding="utf-8") for path in (case / "profiles").glob("*.md")}
    own = (case / about["demander"]).read_text(encoding="utf-8") if about["demander"] else ""
    return {**found, "demander": f"{own}\n{about['intent']}"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_names_exactly_the_profiles_it_has(case: Path) -> None:
    about = read(case, "case.json")
    assert about["id"] == case.name
    assert about["language"] in {"zh", "en"}
    assert 3 <= len(about["participants"]) <= 8
    assert sorted(about["participants"]) == sorted(path.stem for path in (case / "profiles").iterdir())
    if (case / "intent.txt").exists():
        assert (case / "intent.txt").read_text(encoding="utf-8").strip() == about["intent"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_expected_term_is_a_literal_part_of_its_side(case: Path) -> None:
    said, expected = texts(case), read(case, "expected.json")
    absent = []
    for entry in [*expected["links"], *expected["translations"]]:
        sides = [*zip(entry["between"], (entry["a_terms"], entry["b_terms"]), strict=False)]
        sides.append(("demander", entry.get("barrier_terms", [])))
        absent += [(entry["id"], who, term) for who, terms in sides for term in terms if term not in said[who]]
    assert absent == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_links_and_traps_speak_of_people_in_the_room(case: Path) -> None:
    said, expected = texts(case), read(case, "expected.json")
    for link in expected["links"]:
        alone = link["kind"] == "contribution"
        assert link["kind"] in LINKS
        assert len(set(link["between"])) == (1 if alone else 2)
        assert bool(link.get("barrier_terms")) == alone
        assert link["a_terms"]
        assert alone or link["b_terms"]
        assert 1 <= link["by_round"] <= 7
        assert set(link["between"]) <= set(said)
    for trap in expected["traps"]:
        assert trap["kind"] in TRAPS
        assert trap["between"]
        assert set(trap["between"]) <= set(said)
    assert {gap["kind"] for gap in expected["gaps"]} <= {"absent", "overlooked"}
    entries = [entry["id"] for key in ("links", "traps", "translations") for entry in expected[key]]
    assert len(entries) == len(set(entries))


def test_the_five_cover_three_five_and_eight_people_in_both_languages_and_grade_c_on_both_sides() -> None:
    abouts = [read(case, "case.json") for case in EVAL_CASES]
    expected = [read(case, "expected.json") for case in EVAL_CASES]
    assert len(abouts) == 5
    assert {len(about["participants"]) for about in abouts} == {3, 5, 8}
    assert {about["language"] for about in abouts} == {"zh", "en"}
    assert sum(entry.get("demander_grade") == "C" for entry in expected) == 1
    assert sum("C" in entry.get("participant_grades", {}).values() for entry in expected) == 1


def test_the_readme_says_where_the_long_profile_hides_its_facts() -> None:
    long = (ROOT / "extra" / "long.zh.md").read_text(encoding="utf-8")
    rows = re.findall(r"^ *\| (\d+) \| (\S+) …", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(long) > 50_000
    assert len(rows) >= 3
    for offset, opening in rows:
        assert long[int(offset) :].startswith(opening)
