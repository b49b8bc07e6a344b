"""What the pages of this room say is so: their examples run, and they name every tool, setting and kind there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.actions import TOOLS
from tests.gateway.conftest import GatewayHarness
from tongyao.app.context import Ceilings
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.outbound.http_agent import Credentials, HttpConfig
from tongyao.records.people.consents import ConsentQuotas
from tongyao.runtime.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)


EXAMPLES = {
    found[1]: one for one in blocks("extending.md", "python") if (found := re.search(r"^class (\w+)", one, re.M))
}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_every_example_of_an_extension_runs(name: str) -> None:
    scope: dict[str, Any] = {"__name__": f"example_{name}"}
    exec(compile(EXAMPLES[name], f"docs/extending.md: {name}", "exec"), scope)
    await scope["example"]()


def test_every_extension_point_has_one() -> None:
    sections = re.findall(r"^## \d (\w+)$", (DOCS / "extending.md").read_text(encoding="utf-8"), re.M)
    assert sections == ["Engine", "Encoder", "Retriever", "ProfileSource", "Notifier"]
    assert len(EXAMPLES) == len(sections)


def test_the_page_of_mcp_names_every_tool_and_its_configurations_are_json() -> None:
    page = (DOCS / "mcp.md").read_text(encoding="utf-8")
    assert {tool for tool in TOOLS if f"`{tool}`" not in page} == set()
    for block in blocks("mcp.md", "json"):
        assert set(json.loads(block)) <= {"mcpServers", "servers"}


def test_the_pages_name_only_settings_and_fields_there_are() -> None:
    pages = "".join((DOCS / page).read_text(encoding="utf-8") for page in ("api.md", "mcp.md", "extending.md"))
    known = {f"TONGYAO_{name.upper()}" for name in Settings.model_fields}
    known |= {f"TONGYAO_GATEWAY__{name.upper()}" for name in GatewayOptions.model_fields}
    known |= {f"TONGYAO_CONSENT__{name.upper()}" for name in ConsentQuotas.model_fields}
    known |= {f"TONGYAO_MOST__{name.upper()}" for name in Ceilings.model_fields}
    named = {one for one in re.findall(r"TONGYAO_[A-Z_]+[A-Z]", pages) if not one.startswith("TONGYAO_FIELD__")}
    assert named <= known
    page = (DOCS / "extending.md").read_text(encoding="utf-8")
    hidden = {"expires_at"}
    assert {name for name in HttpConfig.model_fields if f"`{name}`" not in page} == set()
    assert {name for name in Credentials.model_fields if f"`{name}`" not in page} == hidden


async def test_the_page_of_the_api_names_only_places_there_are(gateway: GatewayHarness) -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    paths = {re.sub(r"\{\w+\}", "{}", path) for path in gateway.app.openapi()["paths"]}
    named = re.findall(r"`(?:GET|POST|PUT|DELETE) (/[\w/{}]+)`", page)
    assert len(named) > 8
    assert {one for one in named if re.sub(r"\{\w+\}", "{}", one) not in paths} == set()
