"""Visibility, measured on labelled sentences, of which one half was not looked at while mending."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.advice import breach_of, breaches, strike
from tongyao.protocol.model.observation import NoteDraft, ObservationDraft, PairDraft, Relation, TranslationDraft

DATA = Path(__file__).parent / "data"


def labelled(part: str, language: str) -> list[tuple[str, str]]:
    lines = (DATA / f"visibility.{part}.{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [(kind, sentence) for kind, _, sentence in (line.partition("\t") for line in lines)]


def precision_and_recall(rows: list[tuple[str, str]]) -> tuple[float, float]:
    found = [kind != "visible" for kind, sentence in rows if breach_of(sentence)]
    return sum(found) / len(found), sum(found) / sum(kind != "visible" for kind, _ in rows)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["dev", "unseen"])
def test_few_breaches_pass_and_few_statements_are_sent_back(part: str, language: str) -> None:
    precision, recall = precision_and_recall(labelled(part, language))
    print(f"{part} {language}: precision {precision:.3f}, recall {recall:.3f}")
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.parametrize(("language", "alarms"), [("en", 3), ("zh", 2)])
def test_what_a_catalyst_is_there_to_say_is_rarely_sent_back(language: str, alarms: int) -> None:
    """Abilities, conditions and collisions in the wording of an observation; `alarms`: the known false ones."""
    sentences = (DATA / f"visible.{language}.txt").read_text(encoding="utf-8").splitlines()
    assert len(sentences) == 22
    assert sum(bool(breach_of(sentence)) for sentence in sentences) <= alarms


def test_there_are_enough_sentences_and_none_stands_in_both_halves() -> None:
    halves = {part: {s for lang in ("en", "zh") for _, s in labelled(part, lang)} for part in ("dev", "unseen")}
    assert sum(map(len, halves.values())) >= 240
    assert not halves["dev"] & halves["unseen"]


def test_what_somebody_said_may_be_told_unless_it_puts_others_together() -> None:
    assert not breach_of("P02 said they recommend lime mortar.")
    assert not breach_of("P02说“应该先谈价钱”，没有人回应。")
    assert breach_of("P02 says that P01 and P03 should talk in private.")
    assert breach_of("“P01 and P03 should talk.”")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_sent_back_names_the_words_that_are_meant(language: str) -> None:
    for kind, sentence in labelled("dev", language):
        draft = ObservationDraft(markdown=sentence)
        for breach in breaches(draft):
            assert 0 < len(breach.words) < 100, (kind, sentence)
    (breach,) = breaches(ObservationDraft(markdown="P01 lacks a lathe, and P02 should lend it one on Monday."))
    assert breach.words == "should"


def test_only_the_sentences_that_breach_are_struck_and_they_are_counted() -> None:
    draft = ObservationDraft(
        pairs=[
            PairDraft(
                a="P01",
                b="P02",
                relation=Relation.COMPLEMENTARY,
                text="P01 lacks a lathe. They should meet on Monday. P02 has one of 2.4 m.",
            )
        ],
        ignored=[NoteDraft(text="P02 is the strongest candidate.", name="P01 and P02 should team up")],
        translations=[
            TranslationDraft(a="P01", b="P02", a_words="you should ask the miller", b_words="P01 and P02 must talk")
        ],
        markdown="同向。\n建议P01和P02合作。\n",
    )
    assert len(breaches(draft)) == 5
    cleaned, struck = strike(draft)
    assert struck == 5
    assert cleaned.pairs[0].text == "P01 lacks a lathe. P02 has one of 2.4 m."
    assert cleaned.translations[0].a_words == "you should ask the miller"
    assert (cleaned.markdown, cleaned.ignored[0].text) == ("同向。", "")
    assert strike(cleaned) == (cleaned, 0)


@given(st.text(alphabet=st.sampled_from('P01 shouldtak应该建议谈。；.“”"「」 \n'), max_size=200))
def test_striking_leaves_nothing_to_strike(text: str) -> None:
    cleaned, _ = strike(ObservationDraft(markdown=text))
    again, struck = strike(cleaned)
    assert (again.markdown, struck) == (cleaned.markdown, 0)


def test_a_long_hostile_text_is_judged_all_the_same() -> None:
    text = "“" * 20_000 + "P01 " * 20_000 + '"' * 20_000 + "。P01和P02应该合作。"
    assert breaches(ObservationDraft(markdown=text))
