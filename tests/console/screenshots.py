"""Pictures of every page, in both languages, both widths and both themes: `python -m tests.console.screenshots [FOLDER]`.

They are for eyes; the tests beside this file say what must hold.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.console.conftest import DESK, PHONE, Console, browser, console
from tests.console.ferry import script
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import ScriptedEngine
from tests.support.stack import open_stack
from tongyao.app.context import GatewayOptions
from tongyao.gateway.server import application

__all__ = ["browser", "console"]

FOLDER = "TONGYAO_SCREENSHOTS"
ONLY = "TONGYAO_SCREENSHOTS_ONLY"


@pytest.fixture
async def gateway(temporal: Client, database_url: str) -> AsyncIterator[GatewayHarness]:
    engine = ScriptedEngine(script())
    async with open_stack(temporal, database_url, engine) as stack:
        options = GatewayOptions(rate="100000/minute", join_rate="100000/minute", address_rate="100000/minute")
        context = replace(stack.context, options=options)
        yield GatewayHarness(stack, context, application(context), engine)


async def shoot(console: Console, name: str, path: str, secret: str, *, act: str = "") -> None:
    """One page: phone and desk, English and Chinese, light and dark. `act`: the selector of a button pressed before."""
    if not name.startswith(os.environ.get(ONLY, "")):
        return
    folder = Path(os.environ.get(FOLDER, "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    for language, width, theme in (
        ("en", "phone", "light"), ("en", "desk", "light"), ("en", "phone", "dark"), ("zh", "phone", "light"), ("zh", "desk", "light"),
    ):  # fmt: skip
        scheme = "dark" if theme == "dark" else "light"
        async with console.visitor(
            secret, language=language, viewport=PHONE if width == "phone" else DESK, color_scheme=scheme
        ) as page:
            await page.goto(console.url + path)
            if act:
                await page.locator(act).first.click()
                await page.wait_for_load_state()
            await page.screenshot(path=folder / f"{name}.{language}.{width}.{theme}.png", full_page=True)


async def test_pictures(console: Console) -> None:
    house: Ferry = await ferry(console.harness)
    await house.start()
    await house.until_round(3)
    p03, p00 = house.tokens["P03"], house.tokens["P00"]
    await shoot(console, "enter", "/console/enter", "")
    await shoot(console, "inbox", "/console/", p03)
    await shoot(console, "process-participant", f"/console/processes/{house.pid}", p03)
    await shoot(console, "process-demander", f"/console/processes/{house.pid}", p00)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ[FOLDER] = sys.argv[1]
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", "--timeout", "900"]))
