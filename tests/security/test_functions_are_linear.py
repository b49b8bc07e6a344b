"""Nobody may stop the service for the others with a text of the greatest size that is accepted.

Every function that reads what a person or a model wrote is fed with texts that are hard for its kind of work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from crystalline_highway.recite.segments import stem
from tests.llm.requests import catalyst
from tests.security.growth import hold_linear
from tests.support.marking import hiding
from tongyao.app.errors import BadInput
from tongyao.app.people.profile_versions import checked_name, checked_text
from tongyao.app.pictures import svg
from tongyao.field import facets, profile_import
from tongyao.field.encoders.features import runs
from tongyao.llm import rendering
from tongyao.llm.extractive import steps
from tongyao.llm.labels import line
from tongyao.llm.structured_output.parsing import salvage
from tongyao.protocol.guards import advice, fallback, naming, quoting, support
from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.identity.listed import problem_with_listed
from tongyao.protocol.identity.names import name_in_heading, problem_with
from tongyao.protocol.identity.proposer import proposed_names
from tongyao.protocol.model.messages import MAX_TEXT
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.plan import PlanDraft
from tongyao.protocol.model.sizes import cut, language_of, units
from tongyao.protocol.model.tension import NameFound
from tongyao.protocol.model.unicode_text import folded, for_others, normalized
from tongyao.protocol.rules.profile_grade import grade_profile

LONG: Final = MAX_TEXT
PROFILE: Final = 100_000
"""Characters; a profile may have 2,000,000, of which the first twentieth shows any growth."""

UNITS: Final = {
    "letters": "a", "blanks": " ", "lines": "\n", "tabs": "\t", "Chinese": "中", "digits": "1", "full stops": ".", "at signs": "@",
    "a@": "a@", "a.": "a.", "http://": "http://", "opened tags": "<a ", "opened images": "![", "opened links": "[a](", "fences": "```\n",
    "braces": "{", "objects": '{"a":\n', "quotes": "“", "backslashes": "\\", "headings": "# ", "bullets": "- ", "aliases": "P01, ",
    "ids": "R1/P01/1, ", "children": "a/", "names": "Ann Bell ", "almost names": "Ann ", "Chinese names": "李默", "at": " at ", "dot": " dot ",
    "telephone": "+1 ", "telephones": "020 7946 ", "marks": "\u0301\u0323", "formats": "\u200b", "full width": "＜", "capital sharp s": "ẞ",
    "long folds": "ﷺ", "numbers of one": "一", "wechat": "微信：", "comments": "<!--", "scripts": "<script>", "hash": "#", "star": "*", "ellipses": "a…",
}  # fmt: skip

MARKER: Final = hiding("王小明", people={"P01": ["Ann Bell", "李默"], "P02": ["Ann Ann Ann Bell"], "P03": ["Bo"]})
MANY: Final = hiding(
    *(f"Zaph {one}{other}x" for one in "abcdefghij" for other in "abcdefghij"), "Zaph", "Zaph Bell Quor", "Ann", "Bell"
)


def _salvaged(text: str) -> object:
    try:
        return salvage(text, PlanDraft)
    except Exception as error:  # unreadable is an answer, too
        return error


def _refusing(call: Callable[[str], object]) -> Callable[[str], object]:
    def refused(text: str) -> object:
        try:
            return call(text)
        except (ValueError, BadInput) as error:
            return error

    return refused


FUNCTIONS: Final[dict[str, tuple[Callable[[str], Any], int]]] = {
    "anonymise": (lambda text: MARKER.text(text, author="P01"), LONG),
    "anonymise many names": (MANY.text, LONG),
    "propose names": (proposed_names, LONG),
    "strip markup": (for_others, LONG),
    "fold": (folded, PROFILE),
    "normalise": (lambda text: normalized("NFC", text), PROFILE),
    "check a name": (_refusing(checked_name), LONG),
    "find a problem with a name": (problem_with, LONG),
    "find a given name": (lambda text: problem_with_listed(NameFound(name="Ann Bell"), text), LONG),
    "find the name in a heading": (name_in_heading, PROFILE),
    "check a profile": (_refusing(lambda text: checked_text(text, profile="p", max_chars=2_000_000)), PROFILE),
    "grade a profile": (grade_profile, PROFILE),
    "tell the language": (language_of, PROFILE),
    "count units": (units, LONG),
    "cut": (lambda text: cut(text, 300), LONG),
    "put into a data element": (lambda text: rendering.data("words", text), LONG),
    "put on one line": (line, LONG),
    "find a quote": (lambda text: quoting.find_pieces(text, "a quote … that is not there"), PROFILE),
    "find a quote of many marks": (
        lambda text: quoting.find_pieces("a b " * 50_000, text.replace("a", "[person 1]")),
        LONG,
    ),
    "find a long quote": (lambda text: quoting.find_pieces("the source", text), LONG),
    "find a forbidden phrase": (Forbidden(["not there"]).stands_in, PROFILE),
    "read ids": (lambda text: naming.named_ids([text], ["R1/P01/1"]), LONG),
    "read targets": (lambda text: naming.named_targets([text], ["B1"]), LONG),
    "read an alias": (naming.named_alias, LONG),
    "doubt a claim": (lambda text: support.doubt(text, [text]), LONG),
    "judge visibility": (lambda text: list(advice.visibility(ObservationDraft(words=text), catalyst())), 8_000),
    "find a plan in a text": (fallback.block_in_text, LONG),
    "read an answer": (_salvaged, 16_000),
    "wrap in a picture": (lambda text: svg.wrapped(text, 14.6, 3), LONG),
    "escape in a picture": (svg.escape, LONG),
    "split a profile": (facets.split, PROFILE),
    "split into sentences": (lambda text: list(facets.windows(text, 0, len(text), chars=400)), PROFILE),
    "split for the engine without a model": (steps.sentences, PROFILE),
    "find runs": (runs, PROFILE),
    "stem": (stem, LONG),
    "strip HTML of an import": (profile_import._without_scripts, PROFILE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_text_makes_a_function_slow(name: str) -> None:
    call, largest = FUNCTIONS[name]
    for kind, unit in UNITS.items():

        def make(size: int, unit: str = unit) -> str:
            return "x" + unit * (size // len(unit)) + "!"

        hold_linear(call, make, f"{name}: {kind}", largest=largest)


@pytest.mark.parametrize("opening", ["[", '{"a":', "{"])
def test_an_answer_nested_too_deeply_is_unreadable_and_not_an_error(opening: str) -> None:
    text = opening * 100_000
    assert fallback.block_in_text(f"```json\n{text}\n```") is None
    assert isinstance(_salvaged(text), Exception)
    assert json.dumps(str(_salvaged(text)))
