"""Visibility, measured on labelled sentences, of which one half was not looked at while mending."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.advice import breach_of, visibility
from tongyao.protocol.guards.checks import strike
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.requests import CatalystRequest, Language
from tongyao.protocol.model.tension import Tension

DATA = Path(__file__).parent / "data"
REQUEST = CatalystRequest(
    language="en", round=1, tension=Tension(transition="t"), exchange=(), contributors=(), verdict_counts=False
)


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
        if breach := breach_of(sentence):
            assert 0 < len(breach.words) < 100, (kind, sentence)
    breach = breach_of("P01 lacks a lathe, and P02 should lend it one on Monday.")
    assert breach is not None
    assert (breach.reason, breach.words) == ("recommendation", "should")


def test_no_sentence_of_recorded_observations_is_struck() -> None:
    """1,022 sentences of the observations that readers wrote for the rooms in examples/recorded."""
    sentences = (DATA / "recorded.txt").read_text(encoding="utf-8").splitlines()
    assert len(sentences) == 1022
    assert [sentence for sentence in sentences if breach_of(sentence)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Every frame needs two people: always two.",
        "P02's chairs leave the write-off list in March, and P05 repairs them.",
        "P02 and P03 both have a write-off list, and P05 lacks wheels.",
    ],
)
def test_words_that_readers_were_sent_back_for_without_reason(sentence: str) -> None:
    assert breach_of(sentence) is None


@pytest.mark.parametrize(
    ("language", "line", "copied", "own"),
    [
        (
            "en",
            "P00 does not understand why the castors break. It should work before winter.",
            [
                "It should work before winter, and P05 has Thursdays only.",
                "P00 does not understand why the castors break.",
            ],
            [
                "P05 should work before winter.",
                "P00 does not understand much.",
                "P01 does not understand why the castors break.",
            ],
        ),
        (
            "zh",
            "开春之前应该有人把水闸修好，P00 不懂怎么修。",
            ["开春之前应该有人把水闸修好，而 P02 四月才有空。"],
            ["P02 应该有人把关。", "P02 应该把水闸修好。"],
        ),
    ],
)
def test_what_is_copied_from_the_tension_is_not_the_catalysts_own(
    language: Language, line: str, copied: list[str], own: list[str]
) -> None:
    request = REQUEST.model_copy(update={"language": language, "tension": Tension(transition="t", barriers=(line,))})

    def is_complained_of(sentence: str) -> bool:
        return bool(list(visibility(ObservationDraft(words=sentence), request)))

    assert all(breach_of(sentence) for sentence in copied), "without the tension each reads like more"
    assert [sentence for sentence in copied if is_complained_of(sentence)] == []
    assert [sentence for sentence in own if not is_complained_of(sentence)] == []


def test_a_passage_of_the_tension_that_names_a_participant_is_judged() -> None:
    line = "P01 and P02 should talk without the others"
    request = REQUEST.model_copy(update={"tension": Tension(transition=line)})
    assert list(visibility(ObservationDraft(words=f"{line}."), request))


@given(st.text(alphabet=st.sampled_from('P01 shouldtak应该建议谈。；.“”"「」 \n'), max_size=200))
def test_striking_leaves_nothing_to_strike(text: str) -> None:
    draft = ObservationDraft(words=text)
    cleaned, _ = strike(draft, list(visibility(draft, REQUEST)))
    assert strike(cleaned, list(visibility(cleaned, REQUEST)))[1] == 0


def test_a_long_hostile_text_is_judged_all_the_same() -> None:
    text = "“" * 20_000 + "P01 " * 20_000 + '"' * 20_000 + "。P01和P02应该合作。"
    assert list(visibility(ObservationDraft(words=text), REQUEST))
