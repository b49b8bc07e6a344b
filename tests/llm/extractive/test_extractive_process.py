"""What the extractive engine is held to over whole processes, on the example cases."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

from tests.llm.extractive.extractive_process import Ran, cases, formulated, process
from tongyao.evals.cases import Case
from tongyao.llm.extractive.cues import RECOMMENDING
from tongyao.llm.extractive.wording import said_in
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.model.observation import Pair, Relation
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS
from tongyao.protocol.model.tension import Grade, Lineage, Tension

CASES = {case.id: case for case in cases()}
SHORT = [case.id for case in CASES.values() if max(map(len, case.profiles.values())) <= WHOLE_PROFILE_CHARS]
"""Longer profiles are read in pieces (tests/highway); whole, they would fill more rounds than a process has."""
Run = Callable[[str, str], Awaitable[Ran]]
"""Runs the profiles of one case with the intent of another (or the same)."""


@pytest.fixture(scope="module")
def run() -> Run:
    tensions: dict[str, Tension] = {}
    done: dict[tuple[str, str], Ran] = {}

    async def running(profiles: str, intent: str) -> Ran:
        if (profiles, intent) not in done:
            one = CASES[intent]
            if intent not in tensions:
                tensions[intent] = await formulated(one.language, one.intent, one.demander_text)
            done[profiles, intent] = await process(one.language, tensions[intent], CASES[profiles].profiles)
        return done[profiles, intent]

    return running


def _foreign(language: str) -> list[tuple[str, str]]:
    same = [case.id for case in CASES.values() if case.language == language]
    return [(one, two) for one in same for two in same if CASES[one].intent != CASES[two].intent]


def _bare(text: str) -> str:
    """`text` without white space and Markdown's marks, which a quotation may differ in."""
    return re.sub(r"[\s*_`]+", "", text)


FOREIGN = _foreign("zh") + _foreign("en")


@pytest.mark.parametrize("case", SHORT)
async def test_a_process_converges_because_the_texts_are_used_up(run: Run, case: str) -> None:
    ran = await run(case, case)
    assert 2 <= len(ran.rounds) <= 5
    assert not any(turn.items for turn in ran.rounds[-1].projections)


@pytest.mark.parametrize("case", CASES)
async def test_every_quote_stands_in_the_profile_and_nothing_is_said_twice(run: Run, case: str) -> None:
    ran = await run(case, case)
    for turn in ran.rounds:
        for projection in turn.projections:
            assert len(projection.items) <= 6
            for item in projection.items:
                quotes = [ran.profiles[projection.alias][span.start : span.end] for span in item.spans]
                assert _bare(said_in(item)) in [_bare(quote) for quote in quotes]
    spans = [
        (one.alias, span)
        for turn in ran.rounds
        for one in turn.projections
        for item in one.items
        for span in item.spans
    ]
    assert len(spans) == len({(alias, span.start) for alias, span in spans})


@pytest.mark.parametrize(("profiles", "intent"), FOREIGN)
async def test_two_intents_pick_different_sentences_of_the_same_profiles(run: Run, profiles: str, intent: str) -> None:
    own, other = (await run(profiles, profiles)).selected(), (await run(profiles, intent)).selected()
    assert len(own & other) < len(own | other) / 2 or not own


@pytest.mark.timeout(600)  # about a minute of processor time
async def test_unrelated_profiles_are_rarely_related(run: Run) -> None:
    """One participant of each other case of the language, before the tension of this one: strangers to all of
    it."""
    found: list[Pair] = []
    for case in CASES.values():
        tension = (await run(case.id, case.id)).tension
        others = [one for one in CASES.values() if one.language == case.language and one.id != case.id]
        for at in range(3):
            strangers = {one.id: list(one.profiles.values())[at] for one in others}
            found += (await process(case.language, tension, strangers)).last.pairs
    assert len(found) >= 10
    assert sum(pair.relation is Relation.NONE_FOUND for pair in found) >= 0.8 * len(found)


@pytest.mark.parametrize("case", CASES)
async def test_every_relation_resolves_to_a_span_on_each_side(run: Run, case: str) -> None:
    ran = await run(case, case)
    items = {item.id: item for turn in ran.rounds for one in turn.projections for item in one.items}
    for turn in ran.rounds:
        assert turn.observation is not None
        for pair in turn.observation.pairs:
            assert pair.relation is not Relation.NOT_EXAMINED
            if pair.relation.related:
                assert sorted({source.split("/")[1] for source in pair.sources}) == [pair.a, pair.b]
                assert all(items[source].spans for source in pair.sources)


@pytest.mark.parametrize("case", CASES)
async def test_the_catalyst_recommends_nothing(run: Run, case: str) -> None:
    for turn in (await run(case, case)).rounds:
        assert turn.observation is not None
        assert not RECOMMENDING.search(turn.observation.markdown)


@pytest.mark.parametrize("case", CASES)
async def test_every_claim_of_the_plan_has_a_source_in_the_record(run: Run, case: str) -> None:
    ran = await run(case, case)
    known = ran.said() | {f"T/{name}": text for name, text in ran.tension.targets().items()}
    for turn in ran.rounds:
        assert turn.observation is not None
        known |= turn.observation.texts()
    plan = settle_plan(
        ran.plan,
        revision=1,
        language=CASES[case].language,
        contributors=sorted({source.split("/")[1] for source in ran.said()}),
        known=known,
        lineage=Lineage(root="p1", parent="p1", residual="-", depth=1),
    )
    assert plan.about
    assert all(claim.supported for claim in plan.claims())
    numbers = {task.id: f"t{number}" for number, task in enumerate(ran.plan.tasks, start=1)}
    waits = [tuple(numbers[name] for name in task.prerequisites) for task in ran.plan.tasks]
    assert [task.prerequisites for task in plan.tasks] == waits, "code numbers the tasks in their order"
    assert len(plan.residuals) == len(ran.plan.residuals)


async def test_links_that_share_their_words_are_found(run: Run) -> None:
    """Of the links that the cases expect, those a reader of words alone can see."""

    def relations(ran: Ran, case: Case) -> dict[frozenset[str], Relation]:
        names = dict(zip(ran.profiles, case.profiles, strict=True))
        return {frozenset((names[pair.a], names[pair.b])): pair.relation for pair in ran.last.pairs}

    mountain = relations(await run("zh-medicine-mountain", "zh-medicine-mountain"), CASES["zh-medicine-mountain"])
    assert mountain[frozenset(("signalman", "haulier"))] is Relation.COMPLEMENTARY
    assert mountain[frozenset(("miniapp", "haulier"))] is Relation.OFFSETTING
    assert mountain[frozenset(("miniapp", "broadcaster"))] is Relation.OFFSETTING
    assert mountain[frozenset(("fishfarmer", "signalman"))] is Relation.NONE_FOUND
    ferry = relations(await run("en-winter-ferry", "en-winter-ferry"), CASES["en-winter-ferry"])
    assert ferry[frozenset(("palaeographer", "wardroster"))] is Relation.COMPLEMENTARY
    assert ferry[frozenset(("oysters", "choir"))] is Relation.OFFSETTING


async def test_a_demander_of_labels_alone_is_of_grade_c(run: Run) -> None:
    assert (await run("en-3-labels-only", "en-3-labels-only")).tension.grade is Grade.C
    assert (await run("zh-medicine-mountain", "zh-medicine-mountain")).tension.grade is Grade.A
