"""Alerts and the dashboard speak of metrics that exist, and each alert has a part of the operations page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tongyao.runtime.observability.metrics import REGISTRY

REPOSITORY = Path(__file__).parents[2]
OPERATIONS = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
OF_THE_SDK = {
    "temporal_activity_schedule_to_start_latency_bucket",
    "temporal_workflow_task_execution_failed",
    "temporal_sticky_cache_size",
}
_METRIC = re.compile(r"\b((?:tongyao|temporal)_\w+)")


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((REPOSITORY / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    dashboard = json.loads((REPOSITORY / "deploy" / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in rules())]


def ours() -> set[str]:
    """Every name under which our metrics are scraped."""
    names = set()
    for metric in REGISTRY.collect():
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(metric.type, ("",))
        names |= {metric.name + suffix for suffix in suffixes}
    return names


def test_every_metric_that_is_asked_for_exists() -> None:
    asked = {name for expression in expressions() for name in _METRIC.findall(expression)}
    assert asked <= ours() | OF_THE_SDK
    assert {"tongyao_open_processes", "tongyao_model_calls_total"} <= asked


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["annotations"]["page"] == rule["alert"]
    assert f"\n### {rule['alert']}\n" in OPERATIONS
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"]


def test_every_page_of_an_alert_has_a_rule() -> None:
    assert set(re.findall(r"^### (Tongyao\w+)$", OPERATIONS, re.M)) == {rule["alert"] for rule in rules()}
