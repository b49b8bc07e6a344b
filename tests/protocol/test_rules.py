"""The protocol's rules as properties: what holds for every tension, every course of rounds, every state."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support.marking import hiding
from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.identity.marks import HIDDEN
from tongyao.protocol.life.phases import PHASES, IllegalTransition, enter
from tongyao.protocol.life.state import State
from tongyao.protocol.model.ids import all_pairs, next_alias
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DecidingCause, Phase
from tongyao.protocol.model.process_settings import MAX_ROUNDS, ProcessSettings
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.sizes import cut, shortened, units
from tongyao.protocol.model.tension import (
    MISSING,
    TENSION_UNITS,
    Grade,
    Lens,
    Tension,
    TensionDraft,
    from_draft,
    from_raw,
)
from tongyao.protocol.rules.convergence import EARLIEST_END, Course, RoundResult, asks_everybody, course

NOW = datetime(2026, 1, 1, tzinfo=UTC)
START = ProcessInput(process_id="p", demander="d", intent_text_id="i")
MIXED = st.text(alphabet=st.sampled_from("ab0 我想学。，'-_ \n?"), max_size=900)
LANGUAGES = st.sampled_from(get_args(Language))
LENS = st.sampled_from(["", "  ", "a thing that is known", MISSING])
OUTCOMES = st.dictionaries(st.sampled_from(["P01", "P02", "P03"]), st.sampled_from(list(Outcome)), min_size=1)
ROUNDS = st.lists(st.tuples(OUTCOMES, st.sampled_from(list(Verdict))), min_size=1, max_size=MAX_ROUNDS)


def rounds(told: list[tuple[dict[str, Outcome], Verdict]]) -> list[RoundResult]:
    return [RoundResult(number=n, outcomes=o, everybody_asked=True, verdict=v) for n, (o, v) in enumerate(told, 1)]


@given(MIXED, st.integers(0, 400))
def test_a_cut_text_is_a_prefix_within_the_limit_and_the_longest_one(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert text.startswith(short)
    assert units(short) == min(units(text), limit)


@given(MIXED.filter(lambda text: bool(text.strip())), LANGUAGES)
def test_a_raw_intent_of_any_length_stands_as_a_tension_of_grade_c(intent: str, language: Language) -> None:
    if not units(intent):
        return
    raw = from_raw(intent, language=language)
    assert raw.units <= TENSION_UNITS
    assert raw.grade is Grade.C
    assert intent.strip().startswith(raw.transition)


@given(LENS, LENS, st.lists(LENS, max_size=3), LENS)
def test_the_grade_follows_from_the_four_lenses(t: str, i: str, b: list[str], e: str) -> None:
    tension = from_draft(TensionDraft(transition=t, initial_state=i, barriers=b, exchange=e), language="en")
    missing = tension.audit.missing()
    if Lens.T in missing or Lens.I in missing:
        assert tension.grade is Grade.C
    else:
        assert tension.grade is (Grade.B if missing else Grade.A)
    assert {name[0] for name in tension.targets()} == {lens.value for lens in Lens if lens not in missing}


def test_a_tension_over_the_limit_or_with_a_blank_barrier_is_refused_and_says_why() -> None:
    with pytest.raises(ValidationError, match=f"at most {TENSION_UNITS}"):
        Tension(transition="word " * (TENSION_UNITS - 2))
    with pytest.raises(ValidationError, match="barrier may not be blank"):
        Tension(transition="change", barriers=("",))
    with pytest.raises(ValidationError, match="needs a transition"):
        Tension(transition="  ")


@given(ROUNDS)
def test_no_course_ends_before_the_second_round_or_goes_on_after_the_last(
    told: list[tuple[dict[str, Outcome], Verdict]],
) -> None:
    follows = course(rounds(told))
    if follows.converged:
        assert len(told) >= EARLIEST_END
    if len(told) == MAX_ROUNDS:
        assert follows is not Course.GO_ON


@given(ROUNDS)
def test_only_what_was_said_accelerates(told: list[tuple[dict[str, Outcome], Verdict]]) -> None:
    """A lapsed or a failed turn in the last round, and the others' silence no longer ends the rounds."""
    *before, (outcomes, verdict) = told
    for unsaid in (Outcome.LAPSED, Outcome.FAILED):
        assert course(rounds([*before, (outcomes | {"P09": unsaid}, verdict)])) is not Course.ALL_SILENT
    everybody_left = dict.fromkeys(outcomes, Outcome.LEFT)
    assert course(rounds([*before, (everybody_left, verdict)])) is not Course.ALL_SILENT


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1, max_size=MAX_ROUNDS))
def test_two_exhausted_in_a_row_from_the_third_round_converge_and_nothing_less_does(said: list[Verdict]) -> None:
    told = [({"P01": Outcome.REPLIED, "P02": Outcome.NOTHING_NEW}, verdict) for verdict in said]
    enough = len(said) >= 4 and said[-1] is said[-2] is Verdict.EXHAUSTED
    assert (course(rounds(told)) is Course.CONVERGED) == enough


def test_everybody_saying_nothing_new_ends_the_second_round_but_not_the_first() -> None:
    silent = ({"P01": Outcome.NOTHING_NEW, "P02": Outcome.NOTHING_NEW, "P03": Outcome.LEFT}, Verdict.MORE)
    assert course(rounds([silent])) is Course.GO_ON
    assert course(rounds([silent, silent])) is Course.ALL_SILENT


def test_the_silence_of_those_who_were_asked_ends_no_round_in_which_somebody_was_not() -> None:
    silent = ({"P01": Outcome.NOTHING_NEW}, Verdict.MORE)
    first, *_ = rounds([silent, silent])
    second = RoundResult(number=2, outcomes=silent[0], everybody_asked=False, verdict=Verdict.MORE)
    assert course([first, second]) is Course.GO_ON


@given(st.lists(st.sampled_from(list(Verdict)), max_size=MAX_ROUNDS))
def test_everybody_is_asked_in_the_first_two_rounds_and_after_an_exhausted_that_counts(said: list[Verdict]) -> None:
    told = rounds([({"P01": Outcome.REPLIED}, verdict) for verdict in said])
    counts = len(said) >= 3 and said[-1] is Verdict.EXHAUSTED
    assert asks_everybody(told) == (len(said) < 2 or counts)


@pytest.mark.parametrize(("origin", "target"), list(itertools.product(Phase, Phase)))
def test_a_transition_the_protocol_does_not_know_raises_and_names_both_phases(origin: Phase, target: Phase) -> None:
    state = State(start=START, started_at=NOW, seed="s", phase=origin, deciding_cause=DecidingCause.LIMIT)
    if not origin.ended and (target in PHASES[origin].follows or target in (Phase.CANCELLED, Phase.EXPIRED)):
        enter(state, target, NOW)
        assert state.phase is target
        return
    with pytest.raises(IllegalTransition) as error:
        enter(state, target, NOW)
    assert origin.value in str(error.value)
    assert target.value in str(error.value)
    assert state.phase is origin


@given(st.sets(st.integers(1, 12)))
def test_all_pairs_are_each_there_once(numbers: set[int]) -> None:
    aliases = [next_alias(number - 1) for number in numbers]
    pairs = all_pairs([*aliases, *aliases])
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == len(numbers) * (len(numbers) - 1) // 2
    assert all(a < b for a, b in pairs)


@pytest.mark.parametrize(
    "wrong",
    [
        {"quorum": 5, "max_participants": 3},
        {"residuals": "auto", "depth_limit": 0},
        {"turn_seconds": 100, "process_seconds": 99},
        {"max_participants": 9},
        {"no_such_setting": 1},
    ],
)
def test_settings_that_contradict_each_other_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ProcessSettings.model_validate(wrong)


def test_an_authors_name_becomes_their_alias_other_names_a_mark_and_addresses_vanish() -> None:
    names = hiding(people={"P00": ["李默"], "P01": ["Ann", "Ann Bell", "ann@bell.example"], "P02": ["x"]})
    said = "Ann Bell plans with 李默妹; planning, ann@bell.example, +44 20 7946 0000, 13812345678, x"
    hidden = f"{HIDDEN}, {HIDDEN}, {HIDDEN}, x"
    assert names.text(said, author="P01") == f"P01 plans with [某人 1]妹; planning, {hidden}"
    assert names.text(said, author="P00") == f"[person 2] plans with P00妹; planning, {hidden}"


def test_a_shortened_text_ends_with_a_whole_word_and_a_mark() -> None:
    assert shortened("I have a dry cellar,\nand two ovens that stand cold.", 5) == "I have a dry cellar…"
    assert shortened("冬天销量少三分之一，我在找办法。", 9) == "冬天销量少三分之一…"
    assert shortened("short enough.", 5) == "short enough."
