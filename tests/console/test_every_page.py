"""Every page of the console, in every state and both languages: nothing serious for axe-core in either theme, nothing too wide."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page
from temporalio.client import Client

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.tour import STAGES, Act, opened, people_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Inspector:
    """Each person keeps one browser, a phone."""

    def __init__(self, console: Console, language: str, closing: AsyncExitStack) -> None:
        self._console, self._language, self._closing = console, language, closing
        self._pages: dict[str, Page] = {}
        self.seen: list[str] = []

    async def at(self, name: str, path: str, secret: str = "", *, act: Act | None = None) -> None:
        if secret not in self._pages:
            visitor = self._console.visitor(secret, language=self._language, viewport=PHONE)
            self._pages[secret] = await self._closing.enter_async_context(visitor)
        page = self._pages[secret]
        await page.goto(path if "://" in path else self._console.url + path)
        if act is not None:
            await act(page)
            await page.wait_for_load_state()
        await looks_right(page, ("light", "dark"))
        self.seen.append(name)

    async def printed(self, name: str, path: str, secret: str) -> None:
        """Paper has no accessibility tree."""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("stage", STAGES)
async def test_nothing_serious_and_nothing_too_wide(
    stage: str, language: str, temporal: Client, database_url: str, browser: Browser, tmp_path: Path
) -> None:
    async with opened(language, temporal, database_url, browser) as console, AsyncExitStack() as closing:
        inspector = Inspector(console, language, closing)
        await STAGES[stage](inspector, await people_of(console, language), tmp_path)
        assert inspector.seen
