"""A sound plan validates, and what is broken is named. Whatever a planner answers, a sound plan comes out."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.llm.extractive.extractive_process import formulated, process
from tongyao.evals.cases import load
from tongyao.llm.errors import Unreadable
from tongyao.llm.plan_rendering import plan_text
from tongyao.llm.structured_output.parsing import read
from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.guards.deliveries import delivery_of_plan, settle_delivery
from tongyao.protocol.guards.fallback import block_in_text, minimal_plan, says_nothing
from tongyao.protocol.guards.plans import MOST_RESIDUALS, settle_plan
from tongyao.protocol.guards.support import doubt
from tongyao.protocol.model.plan import ClaimDraft, DeliveryDraft, Plan, PlanDraft
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import Exchange, Language, PlannerRequest
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import TENSION_UNITS, Lineage, Tension
from tongyao.protocol.rules.plans.holes import hole
from tongyao.protocol.rules.plans.lineage import duplicate_of, for_another_room
from tongyao.protocol.rules.plans.validation import faults, plan_schema

SCENES = Path(__file__).parents[2] / "scenes"
EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").rglob("case.json"))
LINEAGE = Lineage(root="p", parent="p", residual="plan/1/residual/0", depth=1)
TENSION = Tension(
    transition="sell fish inland", initial_state="12 boats", barriers=("no cold room", "no van"), exchange="ice at cost"
)


def item(alias: str, number: int, claim: str, dimension: Dimension = Dimension.CAPABILITY) -> Item:
    return Item(id=f"R1/{alias}/{number}", dimension=dimension, claim=claim, targets=("B1",))


SAID = (
    Projection(round=1, alias="P01", outcome=Outcome.REPLIED, items=(
        item("P01", 1, "keeps a walk-in cold room near the harbour"),
        item("P01", 2, "never in August", Dimension.BOUNDARY))),
    Projection(round=1, alias="P02", outcome=Outcome.REPLIED, items=(item("P02", 1, "drives a van up the valley"),)),
)  # fmt: skip
REQUEST = PlannerRequest(
    language="en", tension=TENSION, exchange=(Exchange(round=1, projections=SAID),), aliases=("P01", "P02")
)
RECORD = Record(process_id="p", phase=Phase.PLANNING, tension=TENSION, projections=SAID)
GOOD: dict[str, Any] = {
    "panorama": [{"text": "a cold room and a van meet", "sources": ["R1/P01/1", "R1/P02/1"]}],
    "roles": [
        {"alias": "P01", "role": "host", "contributions": [{"text": "a cold room", "sources": ["R1/P01/1"]}]},
        {"alias": "P02", "role": "driver", "contributions": [{"text": "a van", "sources": ["R1/P02/1"]}]},
    ],
    "tasks": [
        {"id": "T1", "title": "clear the cold room", "assignee": "P01", "sources": ["R1/P01/1"]},
        {"id": "T2", "title": "drive", "assignee": "P02", "prerequisites": ["T1"], "sources": ["R1/P02/1"]},
    ],
    "residuals": [{"title": "August", "transition": "sell fish in August", "sources": ["R1/P01/2"]}],
}


def with_(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def task(**changes: Any) -> dict[str, Any]:
    return {"id": "T1", "title": "clear the room", "assignee": "P01", **changes}


GOOD_TEXT = json.dumps(GOOD)
BROKEN = {
    "prose": "I would rather describe it: P01 and P02 work together.",
    "nothing": "",
    "an empty object": "{}",
    "a list": "[1, 2, 3]",
    "cut in the middle": GOOD_TEXT[: len(GOOD_TEXT) // 2],
    "cut in the last brace": GOOD_TEXT[:-1],
    "in a fence": f"Here is the plan.\n```json\n{GOOD_TEXT}\n```\nGood luck!",
    "in an unclosed fence": f"```json\n{GOOD_TEXT}",
    "two plans": f"{GOOD_TEXT}\n{GOOD_TEXT}",
    "a trailing comma": GOOD_TEXT[:-1] + ",}",
    "single quotes": GOOD_TEXT.replace('"', "'"),
    "comments": GOOD_TEXT[:-1] + "} // done",
    "wrapped": json.dumps({"plan": GOOD}),
    "line breaks in strings": GOOD_TEXT.replace("a cold room and", "a cold room\nand"),
    "NaN": GOOD_TEXT[:-1] + ', "cost": NaN}',
    "panorama is a sentence": with_(panorama="they meet"),
    "roles are an object": with_(roles={"P01": "host"}),
    "tasks are null": with_(tasks=None),
    "unknown people": with_(roles=[{"alias": "P09", "role": "ghost"}], tasks=[task(assignee="P09")]),
    "nobody": with_(roles=[]),
    "somebody twice": with_(roles=[*GOOD["roles"], *GOOD["roles"]]),
    "sources of nothing": with_(panorama=[{"text": "a boat", "sources": ["R9/P01/1", "the harbour", ""]}]),
    "sources are a string": with_(panorama=[{"text": "a cold room", "sources": "R1/P01/1"}]),
    "a cycle": with_(tasks=[task(prerequisites=["T2"]), task(id="T2", prerequisites=["T1"])]),
    "a task before itself": with_(tasks=[task(prerequisites=["T1"])]),
    "a task after nothing": with_(tasks=[task(prerequisites=["T9"])]),
    "two tasks of one id": with_(tasks=[task(), task(title="another")]),
    "a task without a name": with_(tasks=[task(id="", title="")]),
    "an endless residual": with_(residuals=[{"transition": "word " * 900, "barriers": ["很" * 900] * 9}]),
    "a blank residual": with_(residuals=[{"transition": "  "}]),
    "blank claims": with_(panorama=[{"text": "   ", "sources": ["R1/P01/1"]}], roles=[], tasks=[]),
    "a hundred deep": "{" * 100,
}  # fmt: skip


def settled(text: str) -> Plan:
    """What the step `plan` makes of an answer: read, else a block in it, else the record (docs/protocol.md §7.6)."""
    draft: PlanDraft | None
    try:
        draft = read(text, PlanDraft)
    except Unreadable:
        draft = block_in_text(text)
    reduced = draft is None or says_nothing(draft)
    if draft is None or reduced:
        draft = minimal_plan(REQUEST)
    return settle_plan(
        draft, revision=1, language="en", contributors=REQUEST.aliases, known=RECORD.item_ids(), lineage=LINEAGE,
        reduced=reduced,
    )  # fmt: skip


def wrong(plan: Plan, record: Record = RECORD) -> list[str]:
    document = json.loads(plan.model_dump_json())
    jsonschema.Draft202012Validator(plan_schema()).validate(document)
    found = faults(document, known=record.item_ids(), contributors=record.contributors())
    return [f"{fault.where}: {fault.what}" for fault in found]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer_is_repaired_or_reduced_and_never_empty(name: str) -> None:
    plan = settled(BROKEN[name])
    assert wrong(plan) == []
    assert plan.claims(), "never empty"
    assert {role.alias for role in plan.roles} == {"P01", "P02"}


def test_an_answer_of_countless_residuals_is_bounded() -> None:
    """Each is compared with those before it: 400 of them, which only a hostile server writes, took two seconds of a worker."""
    many = [{"transition": f"{n * 7919} word{n * 31} again {n * 17}"} for n in range(3 * MOST_RESIDUALS)]
    plan = settled(with_(residuals=many))
    assert wrong(plan) == [] and len(plan.residuals) == MOST_RESIDUALS


def test_a_good_answer_stays_as_it_is() -> None:
    plan = settled(GOOD_TEXT)
    assert wrong(plan) == [] and not plan.reduced
    assert [task.prerequisites for task in plan.tasks] == [(), ("t1",)]
    assert all(claim.supported and not claim.doubt for claim in plan.claims())


FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "no panorama": ({"panorama": 7}, "panorama"),
    "a field of its own": ({"extra": 1}, "extra"),
    "a stranger's task": ({"tasks": [task(assignee="P07")]}, "P07"),
    "an unknown prerequisite": ({"tasks": [task(prerequisites=["T9"])]}, "T9"),
    "a cycle": ({"tasks": [task(prerequisites=["T2"]), task(id="T2", prerequisites=["T1"])]}, "wait for each other"),
    "one id twice": ({"tasks": [task(), task()]}, "2 tasks"),
    "an unknown source": ({"panorama": [{"text": "x", "sources": ["R7/P01/1"]}]}, "R7/P01/1"),
    "support from nowhere": ({"panorama": [{"text": "x", "supported": True}]}, "without a source"),
    "nobody's role": ({"roles": []}, "P01 contributed"),
    "a double role": ({"roles": [{"alias": "P01", "role": "a"}] * 2}, "2 roles"),
    "a blank claim": ({"panorama": [{"text": " ", "sources": ["T/T"]}]}, "without words"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_wrong_is_named(name: str) -> None:
    changes, said = FAULTY[name]
    whole = json.loads(settled(GOOD_TEXT).model_dump_json())
    found = faults({**whole, **changes}, known=RECORD.item_ids(), contributors=RECORD.contributors())
    assert any(said in f"{fault.where} {fault.what}" for fault in found), found


def test_something_that_is_no_plan_at_all_has_one_fault() -> None:
    assert [fault.where for fault in faults("a string")] == ["(document)"]


def cases() -> list[tuple[int, str, dict[str, str]]]:
    """50 cases of 2 to 8 people out of the sample scenes, the same in every run: (seed, need, profiles by alias)."""
    scenes = []
    for folder in sorted(path for path in SCENES.iterdir() if path.is_dir()):
        people = json.loads((folder / "profiles.json").read_text(encoding="utf-8"))
        texts = ["\n".join(_strings(one)) for one in (people.values() if isinstance(people, dict) else people)]
        lines = (folder / "needs.jsonl").read_text(encoding="utf-8").splitlines()
        scenes.append((texts, ["\n".join(_strings(json.loads(line))) for line in lines if line.strip()]))
    made = []
    for seed in range(50):
        chance = random.Random(seed)
        texts, needs = chance.choice(scenes)
        count = 2 + seed % 7
        chosen = chance.sample(texts, count)
        made.append((seed, chance.choice(needs), {f"P{n:02d}": text for n, text in enumerate(chosen, 1)}))
    return made


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "need", "profiles"), cases(), ids=lambda value: str(value) if isinstance(value, int) else ""
)
async def test_every_generated_case_ends_in_a_plan_that_stands(seed: int, need: str, profiles: dict[str, str]) -> None:
    await holds_to_a_plan("zh" if language_of(need) == "zh" else "en", need[:2_000], "", profiles)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
async def test_the_plan_of_every_example_stands(folder: Path) -> None:
    case = load(folder)
    profiles = {f"P{number:02d}": text for number, text in enumerate(case.profiles.values(), 1)}
    await holds_to_a_plan(case.language, case.intent, case.demander_text, profiles)


async def holds_to_a_plan(language: Language, intent: str, demander: str, profiles: dict[str, str]) -> None:
    """Play a case with the extractive engine; its plan stands, against its record too, and so does what it leaves over."""
    ran = await process(language, await formulated(language, intent, demander), profiles)
    record = Record(
        process_id="p",
        phase=Phase.PLANNING,
        tension=ran.tension,
        projections=tuple(said for turn in ran.rounds for said in turn.projections),
        observations=tuple(turn.observation for turn in ran.rounds if turn.observation),
    )
    plan = settle_plan(
        ran.plan, revision=1, language=language, contributors=record.contributors(), known=record.item_ids(),
        lineage=LINEAGE,
    )  # fmt: skip
    assert wrong(plan, record) == []
    assert plan.about and (plan.panorama or plan.remarks)
    asked: dict[str, tuple[Tension, set[str]]] = {}
    for residual in plan.residuals:
        assert residual.tension.units <= TENSION_UNITS
        there = for_another_room(residual.tension)
        apart = {id: tension for id, (tension, sources) in asked.items() if not sources & set(residual.sources)}
        assert duplicate_of(there, apart) is None, "what stands on other words may go to the field beside it"
        asked[residual.id] = there, set(residual.sources)
    for alias in record.contributors():
        left = hole(plan, alias, ran.tension, LINEAGE)
        assert left is None or left.tension.units <= TENSION_UNITS


def test_seeded_wrong_sources_are_doubted_and_right_ones_are_not() -> None:
    """Every claim of a scene's people against what they said, and against what somebody else said."""
    said = {
        "R1/P01/1": "keeps a walk-in cold room of 40 square metres by the harbour",
        "R1/P02/1": "drives a refrigerated van up the valley on Tuesdays",
        "R1/P03/1": "teaches volunteers to read temperature loggers",
        "R1/P04/1": "在岛上修了二十年的柴油发电机",
        "R1/P05/1": "每天清晨五点在码头收第一网鱼",
        "R1/P06/1": "owns 3 moorings that stand empty from October on",
    }
    claims = {
        "R1/P01/1": "P01 opens the cold room by the harbour, 40 square metres",
        "R1/P02/1": "P02's refrigerated van goes up the valley every Tuesday",
        "R1/P03/1": "P03 shows volunteers how temperature loggers are read",
        "R1/P04/1": "P04 照看柴油发电机",
        "R1/P05/1": "P05 清晨在码头收鱼",
        "R1/P06/1": "P06 lends one of 3 moorings from October",
    }
    assert not [claim for source, claim in claims.items() if doubt(claim, [said[source]])]
    seeded = [(claim, other) for source, claim in claims.items() for other in said if other != source]
    caught = [pair for pair in seeded if doubt(pair[0], [said[pair[1]]])]
    assert len(caught) >= 0.9 * len(seeded), set(seeded) - set(caught)


def test_what_nobody_agreed_to_is_told() -> None:
    """A unilateral offer is never shown as agreed (docs/protocol.md §7.4)."""
    tasks = [
        task(id="T1", title="clear the room", agreed=True, sources=["R1/P01/1", "R1/P02/1"]),
        task(id="T2", title="drive", assignee="P02", sources=["R1/P02/1"]),
        task(id="T3", title="keep the ledger", assignee="the harbour master"),
        task(id="T4", title="sign the lease", outside="the port authority"),
        task(id="T5", title="weigh the catch", agreed=True, sources=["R1/P02/1"]),
    ]
    tasks[3]["assignee"] = "outside"
    plan = settled(with_(tasks=tasks))
    assert [one.assignee for one in plan.tasks] == ["P01", "P02", "nobody", "outside", "P01"]
    told = plan_markdown(plan)
    assert "clear the room. *(P01; both sides said so)*" in told
    assert "drive. *(P02 offered it; not agreed)*" in told
    assert "keep the ledger. *(nobody is there for it)*" in told
    assert "sign the lease. *(somebody outside this room: the port authority)*" in told
    assert "weigh the catch. *(P01 has not offered it; nobody has asked yet)*" in told


def test_a_task_of_the_demander_is_offered_where_the_exchange_says_so() -> None:
    tasks = [
        task(id="T1", title="pay for the ice", assignee="P00", sources=["T/E"]),
        task(id="T2", title="ask the harbour", assignee="P00", sources=["R1/P01/1"]),
        task(id="T3", title="lend the scales", assignee="P00", agreed=True, sources=["T/E", "R1/P01/1"]),
    ]
    plan = settled(with_(tasks=tasks))
    assert [(one.offered, one.agreed) for one in plan.tasks] == [(True, False), (False, False), (True, True)]


def test_a_question_to_somebody_is_not_called_their_offer() -> None:
    tasks = [
        task(id="T1", title="Say whether the cold room is free in May", assignee="P01", sources=["R1/P01/1"]),
        task(
            id="T2", title="Give the hours of the van", assignee="P02", sources=["R1/P02/1"], question=True, agreed=True
        ),
        task(id="T3", title="说明是否还有空位", assignee="P02", sources=["R1/P02/1"]),
        task(id="T4", title="drive", assignee="P02", sources=["R1/P02/1"]),
    ]
    plan = settled(with_(tasks=tasks))
    assert [one.standing for one in plan.tasks] == ["asked", "asked", "asked", "offered"]
    told = plan_markdown(plan)
    assert "free in May. *(a question to P01; not answered yet)*" in told
    assert "drive. *(P02 offered it; not agreed)*" in told
    read = plan_text(plan, "en")
    assert "task t1 [P01; a question to them]" in read
    assert "task t4 [P02; offered by one side]" in read


def test_a_delivery_out_of_the_plan_says_what_it_is_about_what_is_given_and_that_nothing_is_agreed() -> None:
    plan = settled(with_(about=[{"text": "fish spoils before it is sold", "sources": ["T/T"]}], panorama=[
        {"text": "P02 drives what P01 keeps cold", "sources": ["R1/P01/1", "R1/P02/1"]}]))  # fmt: skip
    told = settle_delivery(delivery_of_plan(plan, "P02"), alias="P02", plan=plan, language="en").markdown
    assert told.index("fish spoils before it is sold") < told.index("## What is asked of you") < told.index("- drive [")
    assert "- clear the cold room" not in told
    assert "agreed only when you say so" in told
    assert "you, round 1, item 1: “drives a van up the valley”" in told


def test_what_a_delivery_left_out_of_its_readers_part_is_added() -> None:
    plan = settled(with_(roles=[{**GOOD["roles"][0], "costs": [{"text": "no August", "sources": ["R1/P01/2"]}]}]))
    draft = DeliveryDraft(about=[ClaimDraft(text="You keep fish cold.", sources=["R1/P01/1"])])
    delivery = settle_delivery(draft, alias="P01", plan=plan, language="en")
    assert [claim.text for claim in delivery.asked] == ["clear the cold room"]
    assert [claim.text for claim in delivery.conditions] == ["no August"]
    whole = settle_delivery(
        DeliveryDraft(
            asked=[ClaimDraft(text="Clear your cold room.", sources=["R1/P01/1"])],
            conditions=[ClaimDraft(text="Not in August. (R1/P01/2)")],
        ),
        alias="P01", plan=plan, language="en",
    )  # fmt: skip
    assert [claim.text for claim in whole.asked] == ["Clear your cold room."]
    assert [(claim.text, claim.sources) for claim in whole.conditions] == [("Not in August.", ("R1/P01/2",))]
