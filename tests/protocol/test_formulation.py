"""What a formulated tension rests on, and what of the intent it left over."""

from __future__ import annotations

from typing import Literal

import pytest

from tongyao.protocol.model.requests import FormulationRequest, Material, Piece
from tongyao.protocol.model.tension import TENSION_UNITS, LineQuoteDraft, LineSpan, TensionDraft
from tongyao.protocol.rules.formulation import faults, not_taken_up, spans_of

INTENT = "I need a second van. Anna Bell lends hers on Mondays. The roads at Stony Ford allow twenty doors before noon! Why not forty?"
PROFILE = "I deliver dinners. 我每天送四十家。"


def asked(language: Literal["zh", "en"] = "en") -> FormulationRequest:
    material = Material(pieces=(Piece(start=0, text=PROFILE),), total_chars=len(PROFILE))
    shown = INTENT.replace("Anna Bell", "[somebody]")
    return FormulationRequest(language=language, intent=shown, material=material)


def drafted(*quotes: tuple[str, str], transition: str = "to reach forty doors") -> TensionDraft:
    said = [LineQuoteDraft(line=line, quote=quote) for line, quote in quotes]
    return TensionDraft(transition=transition, barriers=["the roads allow twenty"], quotes=said)


def complaints(draft: TensionDraft, language: Literal["zh", "en"] = "en") -> list[str]:
    return [complaint.text for complaint in faults(draft, asked(language))]


def told(draft: TensionDraft, language: Literal["zh", "en"] = "en") -> list[str]:
    return [complaint.text for complaint in faults(draft, asked(language))]


GOOD = (("T", "Why not forty?"), ("B1", "The roads at Stony Ford allow twenty doors before noon"))


def test_a_draft_whose_lines_all_rest_on_words_of_the_demander_has_no_fault() -> None:
    assert complaints(drafted(*GOOD)) == []


def test_a_line_without_a_quote_and_a_quote_that_stands_nowhere_are_faults() -> None:
    (missing,) = complaints(drafted(GOOD[0]))
    assert missing.startswith("B1 has no quote.")
    (invented,) = complaints(drafted(GOOD[0], ("B1", "the bridge is closed")))
    assert "“the bridge is closed” of B1" in invented


@pytest.mark.parametrize(("language", "counted"), [("en", "what stands between two spaces"), ("zh", "每个汉字算一字")])
def test_a_size_that_is_exceeded_is_told_with_what_it_counts(language: Literal["zh", "en"], counted: str) -> None:
    long = drafted(*GOOD, transition="word " * TENSION_UNITS)
    (told,) = complaints(long, language)
    assert counted in told
    assert f"T {TENSION_UNITS}, B1 4" in told


def test_spans_are_offsets_into_what_was_written_also_where_a_name_was_replaced() -> None:
    quotes = (*GOOD, ("I", "[somebody] lends hers on Mondays"), ("E", "我每天送四十家"))
    draft = drafted(*quotes).model_copy(update={"initial_state": "a van on Mondays", "exchange": "forty dinners"})
    spans = {span.line: span for span in spans_of(draft, intent=INTENT, profile=PROFILE)}
    texts = {"intent": INTENT, "profile": PROFILE}
    said = {line: texts[span.source][span.start : span.end] for line, span in spans.items()}
    assert said == {
        "T": "Why not forty?",
        "B1": "The roads at Stony Ford allow twenty doors before noon",
        "I": "lends hers on Mondays",
        "E": "我每天送四十家",
    }


def test_sentences_of_the_intent_that_no_line_quotes_are_listed() -> None:
    spans = spans_of(drafted(*GOOD), intent=INTENT)
    assert not_taken_up(INTENT, spans) == ("I need a second van.", "Anna Bell lends hers on Mondays.")
    chinese = "路一上午只够跑二十家。我有一辆车；星期一借给别人。"
    assert not_taken_up(chinese, [LineSpan(line="I", source="intent", start=0, end=5)]) == (
        "我有一辆车；",
        "星期一借给别人。",
    )


def test_of_a_tension_without_quotes_nothing_is_listed() -> None:
    assert not_taken_up(INTENT, ()) == ()
