"""What the question of a round repeats of the last observation: the same sentences as the page of the process."""

from __future__ import annotations

from tongyao.gateway.console.reading import Quotes, concerning, unanswered
from tongyao.protocol.model.observation import (
    Contribution,
    Effect,
    Gap,
    GapKind,
    Note,
    Observation,
    Pair,
    Relation,
    Verdict,
)

SEEN = Observation(
    round=2,
    verdict=Verdict.MORE,
    pairs=(
        Pair(id="R2/catalyst/1", a="P01", b="P02", relation=Relation.ALIGNED, text="Both want the quay lit."),
        Pair(id="R2/catalyst/2", a="P01", b="P03", relation=Relation.ALIGNED, text="Both keep bees."),
    ),
    contributions=(
        Contribution(
            id="R2/catalyst/3", alias="P02", target="B1", effect=Effect.HELPS, text="P02 lights a part of the quay."
        ),
    ),
    gaps=(
        Gap(id="R2/catalyst/4", kind=GapKind.OVERLOOKED, target="B2", text="Nobody said who holds the key."),
        Gap(id="R2/catalyst/5", kind=GapKind.ABSENT, target="B3", text="Nobody here may close the road."),
    ),
    ignored=(Note(id="R2/catalyst/6", text="P02 asked for a ladder; nobody answered.", about=("P02",)),),
)


def test_what_others_are_to_somebody_comes_first_and_their_own_words_last() -> None:
    assert concerning(SEEN, "P02") == [
        "Both want the quay lit.",
        "Nobody said who holds the key.",
        "P02 lights a part of the quay.",
        "P02 asked for a ladder; nobody answered.",
    ]


def test_what_nobody_has_looked_at_is_told_to_everybody_and_what_nobody_has_to_nobody() -> None:
    assert concerning(SEEN, "P04") == ["Nobody said who holds the key."]


def test_what_others_said_and_nobody_took_up_is_told_to_who_did_not_say_it() -> None:
    assert unanswered(SEEN, "P03") == ["P02 asked for a ladder; nobody answered."]
    assert unanswered(SEEN, "P02") == []


def test_a_sentence_that_was_quoted_before_is_quoted_again_by_its_first_words() -> None:
    shown, said = Quotes(), "I can sew straps of old canvas for the posts at the bank."
    assert shown.once(f"P01 says “{said}”.") == f"P01 says “{said}”."
    assert shown.once(f"Your “{said}” meets a post.") == "Your “I can sew straps of old …” meets a post."
    assert shown.once("“Short.” and “Short.”") == "“Short.” and “Short.”"
