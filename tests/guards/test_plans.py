"""Whatever a planner answers, a plan comes out: with known people, real sources, no cycle, nobody forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.guards.support import doubt
from tongyao.protocol.model.plan import (
    NOBODY,
    ClaimDraft,
    Plan,
    PlanDraft,
    ResidualDraft,
    RoleDraft,
    Source,
    TaskDraft,
)
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import ChildPlan, PlannerRequest
from tongyao.protocol.model.tension import TENSION_UNITS, Tension
from tongyao.protocol.rules.standing import rounds_of

PEOPLE = ("P01", "P02", "P03")
SAID = {
    "R1/P01/1": "keeps a walk-in cold room of 40 square metres near the harbour",
    "R1/P02/1": "每周二和周五开一辆冷藏货车去山上",
    "R1/P03/1": "teaches volunteers to read temperature loggers",
}
BARRIER = "no cold room on two nights of the week"
REQUEST = PlannerRequest(
    language="en",
    tension=Tension(transition="sell fish inland", barriers=(BARRIER,)),
    exchange=rounds_of(
        [
            Projection(
                round=1,
                alias=id.split("/")[1],
                outcome=Outcome.REPLIED,
                items=(Item(id=id, kind=ItemKind.CAPABILITY, text=text),),
            )
            for id, text in SAID.items()
        ],
        [],
    ),
    aliases=PEOPLE,
)
KNOWN = {"T/T": "sell fish inland", "T/B1": BARRIER, **SAID}
IDS = st.sampled_from([*KNOWN, "R9/P01/1", "", " T/B1 ", "P01"])
NAMES = st.sampled_from(["a", "b", "c", "", " a "])
ALIASES = st.sampled_from([*PEOPLE, "P00", "P77", ""])
WORDS = st.sampled_from(["", "  ", "keeps a cold room", "需要" * 200, "word " * 400])
CLAIMS = st.lists(st.builds(ClaimDraft, text=WORDS, sources=st.lists(IDS, max_size=3)), max_size=3)
DRAFTS = st.builds(
    PlanDraft,
    possible=CLAIMS,
    roles=st.lists(st.builds(RoleDraft, alias=ALIASES, conditions=CLAIMS), max_size=5),
    tasks=st.lists(
        st.builds(
            TaskDraft, id=NAMES, title=WORDS, assignee=ALIASES, prerequisites=st.lists(NAMES), sources=st.lists(IDS)
        ),
        max_size=6,
    ),
    residuals=st.lists(
        st.builds(ResidualDraft, transition=WORDS, initial_state=WORDS, barriers=st.lists(WORDS), exchange=WORDS),
        max_size=3,
    ),
)


def settle(draft: PlanDraft) -> Plan:
    return settle_plan(draft, REQUEST)


@given(DRAFTS)
def test_a_broken_draft_becomes_a_whole_plan(draft: PlanDraft) -> None:
    plan = settle(draft)
    assert tuple(role.alias for role in plan.roles) == PEOPLE
    assert all(set(claim.sources) <= set(KNOWN) for claim in plan.claims())
    assert all(claim.supported == bool(claim.sources) for claim in plan.claims())
    assert all(task.assignee in (*PEOPLE, "P00", NOBODY) for task in plan.tasks)
    assert all(residual.tension.units <= TENSION_UNITS for residual in plan.residuals)
    done: set[str] = set()
    waiting = {task.id: set(task.prerequisites) for task in plan.tasks}
    assert len(waiting) == len(plan.tasks)
    while ready := {name for name, wanted in waiting.items() if wanted <= done} - done:
        done |= ready
    assert done == set(waiting), "tasks that nobody could ever begin"


@given(DRAFTS)
def test_no_claim_is_lost_for_lack_of_a_source(draft: PlanDraft) -> None:
    said = sum(bool(claim.text.strip()) for claim in draft.possible)
    assert len(settle(draft).possible) == said


def test_sources_that_cannot_bear_their_claim_are_noticed() -> None:
    right = [
        ("P01 keeps a cold room near the harbour", "R1/P01/1"),
        ("P02周五开冷藏货车", "R1/P02/1"),
        ("P03 teaches volunteers about loggers", "R1/P03/1"),
    ]
    assert not any(doubt(claim, [KNOWN[source]]) for claim, source in right)
    seeded = [(claim, KNOWN[other]) for claim, source in right for _, other in right if other != source]
    assert all(doubt(claim, [text]) for claim, text in seeded)
    assert "90" in doubt("P01 keeps a cold room of 90 square metres", [KNOWN["R1/P01/1"]])


def test_a_source_whose_words_are_not_shown_is_no_reason_for_a_doubt() -> None:
    """A child without an open record gives its parent ids without words: nothing can be compared with them."""
    cited = Source(id="c-1/R1/P01/1", text="")
    child = ChildPlan(process="c-1", title="a boat", plan=Plan(references=(cited,)))
    draft = PlanDraft(possible=[ClaimDraft(text="A boat sails with 12 people on Sundays.", sources=[cited.id])])
    [claim] = settle_plan(draft, REQUEST.model_copy(update={"children": (child,)})).possible
    assert (claim.sources, claim.supported, claim.doubt) == ((cited.id,), True, "")


def test_the_number_of_a_mark_in_the_place_of_a_name_is_no_number_of_the_claim() -> None:
    said = ["老邱头天晚上告诉我去哪个小区"]
    assert doubt("[某人 2]头天晚上告诉P05去哪个小区", said, "zh") == ""
    assert doubt("[person 2] keeps a cold room near the harbour", [KNOWN["R1/P01/1"]]) == ""


def test_a_doubt_is_told_in_the_language_of_the_plan() -> None:
    assert (
        doubt("P01 有九十平方米的冷库，90 平方米", ["在岛上修了二十年的柴油发电机"], "zh")
        == "数目 90 在引用的条目里都没有"
    )
    assert doubt("P01 的冷库从十月起空着", ["在岛上修了二十年的柴油发电机"], "zh") == "和引用的条目没有一个共同的词"
