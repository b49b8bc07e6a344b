"""What the page of a tension lights in an intent, and what it says nothing took up."""

from __future__ import annotations

from tongyao.app.choosing.tension_words import LineWords
from tongyao.gateway.console.intent_highlights import left_over, pieces, under
from tongyao.protocol.model.tension import Lens, Tension

SAID = "I want a kiln for the village. My uncle keeps goats."
GIVES = "I can give clay and two evenings."
INTENT = f"{SAID}\n\n{under(Lens.E, GIVES, 'en')}"
TENSION = Tension.model_validate(
    {
        "transition": "The village has a kiln.",
        "initial_state": "A village.",
        "barriers": ["No oven."],
        "exchange": GIVES,
    }
)


def quoted(text: str, line: str) -> LineWords:
    start = INTENT.index(text)
    return LineWords(line=line, source="intent", start=start, end=start + len(text), text=text)


def test_a_line_that_the_help_wrote_over_a_part_is_nothing_that_was_lost() -> None:
    shown = pieces(INTENT, TENSION, [quoted("I want a kiln for the village.", "T"), quoted(GIVES, "E")])
    assert left_over(shown) == ["My uncle keeps goats."]


def test_a_line_that_the_help_wrote_over_a_part_is_lit_for_none_after_an_own_wording() -> None:
    tension = TENSION.model_copy(update={"transition": "What I can give and a kiln for the village."})
    shown = pieces(INTENT, tension)
    assert ("What I can give:\n\n", "") in shown
    assert (GIVES, "E") in shown
    assert "".join(text for text, _ in shown) == INTENT


def test_a_part_that_goes_on_after_an_empty_line_is_lit_as_two() -> None:
    intent = "The village has a kiln.\n\nA kiln for the village."
    assert [text for text, _ in pieces(intent, TENSION)] == ["The village has a kiln.\n\n", "A kiln for the village."]


def test_a_bracket_before_a_quoted_piece_is_no_part_of_the_words_that_are_left_over() -> None:
    shown = [
        ("My grandfather's organ (", ""),
        ("four bellows, no wind", "I"),
        (") stands in the barn; ", ""),
        ("help me", "T"),
    ]
    assert left_over(shown) == ["My grandfather's organ", "stands in the barn"]
