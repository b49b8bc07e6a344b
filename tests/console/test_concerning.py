"""What the question of a round repeats of the last observation: the same sentences as the page of the process."""

from __future__ import annotations

from tongyao.gateway.console.pages import environment, words
from tongyao.gateway.console.reading import Quotes, concerning, observations, title_of, title_of_words, unanswered
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
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.read_access import PartyView

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


def view_of(*seen: Observation, **more: object) -> PartyView:
    return PartyView.model_validate(
        {"id": "c-1", "phase": Phase.CRYSTALLIZING, "round": 9, "you": "P00", "observations": seen, **more}
    )


def test_the_observation_on_the_page_of_a_process_says_who_touches_which_part_the_barriers_first() -> None:
    change = Contribution(
        id="R2/catalyst/7", alias="P01", target="T", effect=Effect.HELPS, text="P01 wants light, too."
    )
    seen = SEEN.model_copy(update={"pairs": (), "contributions": (change, *SEEN.contributions)})
    (shown,) = observations(view_of(seen))
    assert [one.text for one in shown.contributions] == ["P02 lights a part of the quay.", "P01 wants light, too."]
    page = "{% import 'parts/process.html' as parts with context %}{{ parts.observation(seen, 'n') }}"
    made = environment().from_string(page).render(seen=shown, view=view_of(), sources={}, **words("en"))
    assert made.index("What touches the intent") < made.index("P02 lights a part") < made.index("holds the key")


def test_an_observation_that_repeats_an_earlier_round_says_so_in_one_line() -> None:
    before = SEEN.model_copy(update={"round": 1})
    silent = Observation(round=3, verdict=Verdict.EXHAUSTED)
    first, second, third = observations(view_of(before, SEEN, silent))
    assert [one.repeats for one in (first, second, third)] == [0, 1, 0]
    page = "{% import 'parts/process.html' as parts with context %}{{ parts.observation(seen, 'n') }}"
    shown = [
        environment().from_string(page).render(seen=one, view=view_of(), sources={}, **words("en"))
        for one in (first, second, third)
    ]
    assert "Both want the quay lit." in shown[0]
    assert "The same as in round 1, word for word." in shown[1] and "quay" not in shown[1]
    assert "Nothing new became visible." in shown[2]


def test_a_process_has_one_title_whoever_asks_for_it() -> None:
    tension = Tension(
        transition="A quay that is lit. Every night.", initial_state="Dark.", barriers=("Wire.",), exchange=""
    )
    left = "What nobody found: a ladder"
    child = view_of(title=left, intent="I want the quay lit.", tension=tension)
    assert title_of(child) == title_of_words(left, None, tension) == left, "who is asked to join reads the same"
    assert title_of(view_of(tension=tension)) == title_of_words("", None, tension) == "A quay that is lit"
    assert title_of(view_of()) == "c-1", "who may read nothing of it"
