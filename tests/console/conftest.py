"""The console in a real browser, served by a real gateway over the real stack."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.serving import served

__all__ = ["gateway"]

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


class Console:
    """A gateway on a port, and browsers of people at it."""

    def __init__(self, harness: GatewayHarness, browser: Browser, url: str) -> None:
        self.harness, self.browser, self.url = harness, browser, url

    @asynccontextmanager
    async def visitor(self, secret: str = "", *, language: str = "en", **more: Any) -> AsyncIterator[Page]:
        """A page of a new browser, signed in with this token. An error in a script, or a refused resource, fails the test."""
        more.setdefault("viewport", DESK)
        locale = "zh-CN" if language == "zh" else "en-GB"
        context: BrowserContext = await self.browser.new_context(locale=locale, timezone_id="Europe/London", **more)
        context.set_default_timeout(60_000)
        page = await context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
        try:
            if secret:
                await self.sign_in(page, secret)
            yield page
            assert not wrong, wrong
        finally:
            await context.close()

    async def sign_in(self, page: Page, secret: str) -> None:
        await page.goto(f"{self.url}/console/enter")
        await page.locator("#secret").fill(secret)
        await page.locator("form:has(#secret) button").click()
        await page.wait_for_url("**/console/")


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium per xdist worker. Each visitor has a context of their own: cookies, storage and pages are not shared."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium: apt install chromium")  # reason: only Python and make are asked of a machine
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
async def console(gateway: GatewayHarness, browser: Browser) -> AsyncIterator[Console]:
    async with served(gateway.app) as url:
        yield Console(gateway, browser, url)
