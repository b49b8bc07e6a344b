"""A plan that was stored before the present shape is read as one of the present shape."""

from __future__ import annotations

import json

from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.model.upcast import read_plan

OLD = {
    "revision": 2,
    "language": "en",
    "about": [{"text": "Bread is late.", "sources": ["T/T"], "supported": True, "concluded": False, "doubt": ""}],
    "panorama": [{"text": "A bus goes up.", "sources": ["R1/P01/1"]}],
    "roles": [
        {
            "alias": "P01",
            "role": "drives",
            "tier": "gives",
            "contributions": [
                {"text": "Takes crates up.", "sources": ["R1/P01/1"]},
                {"text": "Lends a shed.", "sources": ["R1/P01/4"]},
            ],
            "benefits": [{"text": "Bread.", "sources": ["T/E"]}],
            "costs": [{"text": "No Sundays.", "sources": ["R1/P01/2"]}],
            "dependencies": [{"text": "Crates with lids.", "sources": ["R1/P01/3"]}],
        }
    ],
    "tasks": [{"id": "t1", "title": "Load", "assignee": "P01", "sources": ["R1/P01/1"]}],
    "order": [{"text": "By May.", "sources": ["R1/catalyst/3"]}],
    "open_points": ["Who pays?"],
    "references": [{"id": "R1/catalyst/3", "text": "the road closes in May", "premise": ""}],
    "unused": [{"id": "R1/P01/9", "text": "sings, so sings", "premise": "sings"}],
}


def test_a_plan_of_the_old_shape_keeps_its_claims_tasks_and_conditions() -> None:
    plan = read_plan(json.dumps(OLD))
    assert [claim.text for claim in plan.possible] == ["Bread is late.", "A bus goes up.", "By May.", "Bread."]
    assert [(task.id, task.title) for task in plan.tasks] == [("t1", "Load"), ("t2", "Lends a shed.")]
    assert [claim.text for claim in plan.roles[0].conditions] == ["No Sundays.", "Crates with lids."]
    assert plan.remarks == ("Who pays?",)
    told = plan_markdown(plan)
    assert "the road closes in May" in told and "sings, so sings" in told


def test_a_plan_of_the_present_shape_is_read_as_it_stands() -> None:
    plan = read_plan(json.dumps(OLD))
    assert read_plan(plan.model_dump_json()) == plan


def test_a_plan_with_benefits_in_its_roles_keeps_them_as_possibilities() -> None:
    plan = read_plan(json.dumps(OLD)).model_dump(mode="json")
    plan["roles"][0]["benefits"] = [{"text": "A warm hall.", "sources": ["T/E"]}]
    assert [claim.text for claim in read_plan(json.dumps(plan)).possible][-1] == "A warm hall."
