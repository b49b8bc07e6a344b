"""A kind of channel that was added by one file and one registration: over the API and MCP it is like any other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, text_of
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.people.notifications import Notice

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
NUMBER = "+4791234567"


def pager_of_the_page() -> Any:
    """The class that docs/extending.md shows."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    scope: dict[str, Any] = {"__name__": "pager"}
    exec(compile(next(one for one in blocks if "class Pager" in one), "docs/extending.md", "exec"), scope)
    return scope["Pager"]()


async def test_it_is_set_confirmed_and_used_over_the_api(gateway: GatewayHarness) -> None:
    pager = pager_of_the_page()
    gateway = gateway.also(notifiers={"pager": pager})
    joined = await gateway.join(await gateway.scene())
    person, token = joined["profile_id"], joined["token"]
    path = f"/profiles/{person}/channels"
    wrong = await gateway.ask("PUT", f"{path}/pager", token, json={"address": "next door"})
    assert wrong.json()["code"] == "bad_address" and "6 to 15 digits" in wrong.json()["detail"]
    unknown = await gateway.ask("PUT", f"{path}/pigeon", token, json={"address": NUMBER})
    assert unknown.json()["code"] == "no_such_channel" and "pager" in unknown.json()["detail"]
    made = await gateway.ask("PUT", f"{path}/pager", token, json={"address": NUMBER})
    assert made.status_code == 200 and made.json()["confirmed"] is False
    code = re.search(r": (\S+)$", pager.sent[-1][1], re.M)
    assert code is not None
    shown = await gateway.ask("PUT", f"{path}/pager/confirmation", token, json={"code": code[1]})
    assert shown.status_code == 200, shown.text
    assert shown.json()["confirmed"] is True
    notifications = gateway.context.repositories.notifications
    await notifications.tell(Notice(source="test/1", person=person, process_id="", about={"what": "token_made"}))
    sender = NotificationSender(gateway.context.repositories, gateway.context.notifiers)
    await sender.once()
    assert [address for address, _ in pager.sent] == [NUMBER, NUMBER]
    assert (await gateway.ask("DELETE", f"{path}/pager", token)).status_code == 204
    assert (await gateway.ask("GET", path, token)).json() == []


async def test_it_is_set_over_mcp(gateway: GatewayHarness) -> None:
    pager = pager_of_the_page()
    gateway = gateway.also(notifiers={"pager": pager})
    token = (await gateway.join(await gateway.scene()))["token"]
    async with McpClient(make_server(gateway.context, token=token)) as client:
        made = json.loads(text_of(await client.call_tool("set_channel", {"kind": "pager", "to": NUMBER})))
        assert (made["kind"], made["confirmed"]) == ("pager", False)
        assert [address for address, _ in pager.sent] == [NUMBER]
