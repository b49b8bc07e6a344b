"""A pair may have a second relation, of another kind, about another matter."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.judgement.rooms import exchange, item, request
from tongyao.llm.rendering import catalyst
from tongyao.protocol.documents.markdown import observation_markdown
from tongyao.protocol.guards.coverage import PairStatements
from tongyao.protocol.guards.observation_review import settle_observation
from tongyao.protocol.model.observation import Observation, ObservationDraft, PairDraft, Relation
from tongyao.protocol.model.phase import Phase
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.requests import CatalystRequest, Exchange, Mandate, Material
from tongyao.protocol.rules import read_access, request_access
from tongyao.protocol.rules.identity.redaction import Erasure
from tongyao.protocol.rules.news import concerned, news

OFFSETTING = {"relation": "offsetting", "text": "B", "condition": ["R1/P01/2"], "cancels": ["R1/P02/2"]}
FIRST = [
    item("R1/P01/1", quote=(0, 50)),
    item("R1/P01/2", quote=(100, 150), dimension=Dimension.BOUNDARY),
    item("R1/P02/1", quote=(0, 50)),
    item("R1/P02/2", quote=(100, 150)),
]


def draft(**changes: Any) -> PairDraft:
    fields = {"a": "P01", "b": "P02", "relation": "complementary", "text": "A", "lack": ["R1/P02/1"],
              "means": ["R1/P01/1"], "also": [OFFSETTING], **changes}  # fmt: skip
    return PairDraft.model_validate(fields)


def settled(pair: PairDraft, asked: CatalystRequest, guards: Counter[str] | None = None) -> Observation:
    return settle_observation(ObservationDraft(pairs=[pair], markdown="…"), asked, guards=guards)


def first_round() -> CatalystRequest:
    return request([exchange(1, FIRST)])


def after(pair: PairDraft) -> Exchange:
    return first_round().exchange[0].model_copy(update={"observation": settled(pair, first_round())})


def second_round(pair: PairDraft, *items: Item) -> CatalystRequest:
    return request([after(pair), exchange(2, list(items) or [item("R2/P01/1", quote=(200, 250))])])


def test_both_relations_stand_under_one_id_each_with_its_text_and_sources() -> None:
    (pair,) = (seen := settled(draft(), first_round())).pairs
    assert pair.relations == (Relation.COMPLEMENTARY, Relation.OFFSETTING)
    assert pair.sources == ("R1/P02/1", "R1/P01/1")
    assert pair.second is not None
    assert pair.second.sources == ("R1/P01/2", "R1/P02/2")
    assert seen.texts() == {"R1/catalyst/1": "A B"}
    assert "Also **offsetting** B (R1/P01/2, R1/P02/2)" in observation_markdown(seen)


def test_the_next_request_shows_both() -> None:
    told = "\n".join(block.text for block in catalyst(second_round(draft())))
    line = "R1/catalyst/1 P01-P02 complementary: A [R1/P02/1, R1/P01/1] ‖ also offsetting: B [R1/P01/2, R1/P02/2]"
    assert line in told


def test_a_second_relation_without_another_kind_its_form_or_its_own_matter_is_sent_back_and_does_not_stand() -> None:
    refused = {
        "of the kind of the first": {**OFFSETTING, "relation": "complementary"},
        "needs ids of the items that set one side's condition": {**OFFSETTING, "cancels": []},
        "it is the same matter": {**OFFSETTING, "condition": ["R1/P01/1"]},
    }
    for complaint, second in refused.items():
        guards: Counter[str] = Counter()
        wrong = draft(also=[second])
        (pair,) = settled(wrong, first_round(), guards).pairs
        assert pair.second is None, complaint
        assert pair.relation is Relation.COMPLEMENTARY
        assert guards["second_relations_refused"] == 1
        ((_, _, told),) = PairStatements(first_round()).faults([wrong])
        assert complaint in told


def test_a_second_relation_stays_while_the_pair_is_stated_again_without_it() -> None:
    (pair,) = settled(draft(also=[], text="", lack=[], means=[]), second_round(draft())).pairs
    assert (pair.id, pair.relations) == ("R1/catalyst/1", (Relation.COMPLEMENTARY, Relation.OFFSETTING))
    later = draft(also=[], lack=["R1/P02/1"], means=["R2/P01/1"], text="A2")
    (pair,) = settled(later, second_round(draft())).pairs
    assert (pair.id, pair.relations) == ("R2/catalyst/1", (Relation.COMPLEMENTARY, Relation.OFFSETTING))


def test_the_same_two_relations_in_the_other_order_change_nothing() -> None:
    first = {"relation": "complementary", "lack": ["R1/P02/1"], "means": ["R1/P01/1"]}
    swapped = PairDraft.model_validate({"a": "P01", "b": "P02", **OFFSETTING, "also": [first]})
    (pair,) = settled(swapped, second_round(draft())).pairs
    assert (pair.id, pair.relation) == ("R1/catalyst/1", Relation.COMPLEMENTARY)


def test_a_second_relation_on_a_quoted_boundary_does_not_go_without_a_new_quote() -> None:
    gone = PairDraft(a="P01", b="P02", relation=Relation.NONE_FOUND)
    (pair,) = settled(gone, second_round(draft())).pairs
    assert pair.relations == (Relation.COMPLEMENTARY, Relation.OFFSETTING)
    steps = [{"a": "R2/P01/1", "b": "R1/P02/2"}, {"a": "R1/P01/2", "b": "R1/P02/1"}]
    other = draft(also=[{"relation": "aligned", "text": "C", "steps": steps}])
    for quote, kept in ((None, True), ((200, 250), False)):
        (pair,) = settled(other, second_round(draft(), item("R2/P01/1", quote=quote))).pairs
        assert (pair.relations[1] is Relation.OFFSETTING) is kept


def test_a_second_relation_goes_with_an_item_of_it_that_was_taken_back() -> None:
    back = item("R2/P01/1", quote=(200, 250)).model_copy(update={"withdraws": ("R1/P01/2",)})
    (pair,) = settled(draft(also=[]), second_round(draft(), back)).pairs
    assert pair.relations == (Relation.COMPLEMENTARY,)


NONE = {"relation": "none_found", "text": "gone", "sources": ["R2/P01/1"]}


def test_a_second_relation_ends_by_none_found_with_an_item_said_since() -> None:
    again = draft(text="", lack=[], means=[], also=[NONE])
    asked = second_round(draft(), item("R2/P01/1", quote=(200, 250)))
    assert PairStatements(asked).faults([again]) == ()
    (pair,) = (seen := settled(again, asked)).pairs
    assert (pair.id, pair.text, pair.relations) == ("R2/catalyst/1", "A", (Relation.COMPLEMENTARY,))
    assert seen.not_taken == ()
    later = [*asked.exchange[:1], asked.exchange[1].model_copy(update={"observation": seen}), exchange(3, [])]
    (pair,) = settled(draft(also=[]), request(later)).pairs
    assert pair.relations == (Relation.COMPLEMENTARY,), "it does not come back"


def test_a_second_relation_does_not_end_on_old_words_nor_a_quoted_boundary_without_a_new_quote() -> None:
    asked = second_round(draft(), item("R2/P01/1"))
    (pair,) = (seen := settled(draft(also=[{**NONE, "sources": ["R1/P01/1"]}]), asked)).pairs
    assert pair.relations == (Relation.COMPLEMENTARY, Relation.OFFSETTING)
    assert "What `also` said of it cites no item said since" in seen.not_taken[0]
    ((_, _, told),) = PairStatements(asked).faults([draft(also=[NONE])])
    assert "It keeps this relation" in told


def test_to_say_that_there_is_no_second_relation_where_none_stands_is_no_fault() -> None:
    for asked in (first_round(), second_round(draft(also=[]))):
        none = draft(also=[{**NONE, "sources": []}])
        assert PairStatements(asked).faults([none]) == ()
        (pair,) = (seen := settled(none, asked)).pairs
        assert (pair.relations, seen.not_taken) == ((Relation.COMPLEMENTARY,), ())


def test_none_found_as_second_does_not_take_the_place_of_a_first_relation_found_later() -> None:
    before = PairDraft(a="P01", b="P02", relation=Relation.NONE_FOUND)
    (pair,) = settled(draft(also=[NONE]), second_round(before)).pairs
    assert pair.relations == (Relation.COMPLEMENTARY,)


def test_a_second_relation_that_ends_asks_nothing_of_anybody() -> None:
    asked = second_round(draft(), item("R2/P01/1", quote=(200, 250)))
    seen = settled(draft(text="", lack=[], means=[], also=[NONE]), asked)
    assert concerned([asked.exchange[0], asked.exchange[1].model_copy(update={"observation": seen})]) == ()


def test_a_second_relation_found_later_concerns_both_and_is_no_news_of_a_link() -> None:
    asked = second_round(draft(also=[]))
    seen = settled(draft(text="", lack=[], means=[]), asked)
    (pair,) = seen.pairs
    assert (pair.id, pair.relations) == ("R2/catalyst/1", (Relation.COMPLEMENTARY, Relation.OFFSETTING))
    rounds = [asked.exchange[0], asked.exchange[1].model_copy(update={"observation": seen})]
    assert news(rounds).first_links == 0
    assert concerned(rounds) == ("P01", "P02")


def test_words_of_somebody_who_was_erased_go_from_the_second_relation_too() -> None:
    """Between two others, a text may still carry what a third person said (docs/erasure.md)."""
    second = {**OFFSETTING, "text": "P03 brews quinces in copper kettles."}
    seen = settled(draft(also=[second]), first_round())
    erasure = Erasure("p", seats={"p": "P03"}, words=["brews quinces in copper kettles"], elsewhere=["A"])
    (pair,) = erasure.observation(seen).pairs
    assert pair.second is not None
    assert "quinces" not in pair.whole_text


def test_a_second_relation_is_held_against_the_slots_of_this_answer() -> None:
    """In round 1 the first relation held both items of P01. In round 2 one of them moves to the second relation."""
    crowded = draft(also=[], means=["R1/P01/1", "R1/P01/2"])
    apart = draft(text="A2", also=[{**OFFSETTING, "cancels": ["R2/P02/1"]}])
    asked = second_round(crowded, item("R2/P02/1", quote=(200, 250)))
    assert PairStatements(asked).faults([apart]) == ()
    (pair,) = (seen := settled(apart, asked)).pairs
    assert (pair.id, pair.text) == ("R2/catalyst/1", "A2")
    assert pair.relations == (Relation.COMPLEMENTARY, Relation.OFFSETTING)
    assert pair.form.means == ("R1/P01/1",)
    assert seen.not_taken == ()


def test_new_words_without_a_new_source_are_not_taken_and_the_next_request_says_so() -> None:
    asked = second_round(draft())
    seen = settled(draft(text="Other words", also=[{**OFFSETTING, "text": "B2"}]), asked)
    assert (seen.pairs[0].id, seen.pairs[0].whole_text) == ("R1/catalyst/1", "A B")
    (told,) = seen.not_taken
    assert told.startswith("The pair P01-P02: it stands as stated in round 1.")
    assert "its second relation stands as stated in round 1" in told
    rounds = [asked.exchange[0], asked.exchange[1].model_copy(update={"observation": seen})]
    third = request([*rounds, exchange(3, [item("R3/P01/1", quote=(300, 350))])])
    assert f"not taken over: {told}" in "\n".join(block.text for block in catalyst(third))


def test_nothing_is_said_of_a_pair_that_is_repeated_as_it_was() -> None:
    for again in (draft(), draft(text="", lack=[], means=[], also=[])):
        assert settled(again, second_round(draft())).not_taken == ()
    none = PairDraft(a="P01", b="P02", relation=Relation.NONE_FOUND, text="Nothing.")
    assert settled(none.model_copy(update={"text": "Still nothing."}), second_round(none)).not_taken == ()


def test_what_does_not_stand_after_the_repair_is_said_in_the_next_request() -> None:
    seen = settled(draft(also=[{**OFFSETTING, "cancels": []}]), first_round())
    (told,) = seen.not_taken
    assert told.startswith("The pair P01-P02: its second relation, in `also`: `offsetting` needs ids")


def test_words_that_were_not_taken_are_told_to_nobody_but_their_author() -> None:
    told = ("The pair P01-P02: it stands as stated in round 1.",)
    seen = settled(draft(), first_round()).model_copy(update={"not_taken": told})
    record = Record(
        process_id="p",
        phase=Phase.CRYSTALLIZING,
        round=2,
        tension=first_round().tension,
        participants=(Participant(alias="P01"), Participant(alias="P02")),
        observations=(seen,),
    )
    views = [read_access.for_party(record, role="participant", alias="P01"), read_access.for_export(record)]
    assert [one.observations and one.observations[0].not_taken for one in views] == [(), ()]
    proxy = request_access.for_endpoint(record, "P01", material=Material(), mandate=Mandate())
    assert proxy.observations[0].not_taken == ()
    assert request_access.for_catalyst(record).exchange[0].observation == seen
