"""Pictures of every page, in both languages, both widths and both themes: `python -m tests.console.screenshots [FOLDER]`.

English pages show the ferry's case and Chinese ones the first demo's, so that texts and interface are in one language.
They are for eyes; the tests beside this file say what must hold.
"""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page
from temporalio.client import Client

from tests.console.conftest import DESK, PHONE, Console, browser
from tests.console.tour import STAGES, Act, opened, people_of

__all__ = ["browser"]

FOLDER = "SCREENSHOTS"
ONLY = "SCREENSHOTS_ONLY"


class Camera:
    """Takes every page on a phone and a desk, light and dark. Each person keeps one browser."""

    def __init__(self, console: Console, language: str, closing: AsyncExitStack) -> None:
        self._console, self._language, self._closing = console, language, closing
        self._pages: dict[str, Page] = {}
        self._folder = Path(os.environ.get(FOLDER, "screenshots"))
        self._folder.mkdir(parents=True, exist_ok=True)

    async def at(self, name: str, path: str, secret: str = "", *, act: Act | None = None) -> None:
        """One page. `act`: what is done on it before each picture."""
        if not name.startswith(os.environ.get(ONLY, "")):
            return
        page = await self._page_of(secret)
        for width, theme in (("phone", "light"), ("phone", "dark"), ("desk", "light"), ("desk", "dark")):
            await self._show(page, width, "dark" if theme == "dark" else "light")
            await page.goto(path if "://" in path else self._console.url + path)
            if act is not None:
                await act(page)
                await page.wait_for_load_state()
            # From the top: else the bar stands where the page was scrolled to.
            await page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
            await page.screenshot(path=self._path(name, width, theme), full_page=True)

    async def printed(self, name: str, path: str, secret: str) -> None:
        """What a printer gets, as pictures of the width of A4 at 96 dpi."""
        if not name.startswith(os.environ.get(ONLY, "")):
            return
        page = await self._page_of(secret)
        await self._show(page, "desk", "light")
        await page.set_viewport_size({"width": 718, "height": 1016})
        await page.emulate_media(media="print")
        await page.goto(self._console.url + path)
        await page.screenshot(path=self._path(name, "print", "light"), full_page=True)
        await page.emulate_media(media="screen")

    def _path(self, name: str, width: str, theme: str) -> Path:
        return self._folder / f"{name}.{self._language}.{width}.{theme}.png"

    async def _page_of(self, secret: str) -> Page:
        if secret not in self._pages:
            visitor = self._console.visitor(secret, language=self._language)
            self._pages[secret] = await self._closing.enter_async_context(visitor)
        return self._pages[secret]

    @staticmethod
    async def _show(page: Page, width: str, theme: Literal["light", "dark"]) -> None:
        viewport = PHONE if width == "phone" else DESK
        await page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
        await page.emulate_media(color_scheme=theme)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("stage", STAGES)
async def test_pictures(
    stage: str, language: str, temporal: Client, database_url: str, browser: Browser, tmp_path: Path
) -> None:
    async with opened(language, temporal, database_url, browser) as console, AsyncExitStack() as closing:
        await STAGES[stage](Camera(console, language, closing), await people_of(console, language), tmp_path)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ[FOLDER] = sys.argv[1]
    sys.exit(pytest.main([__file__, "-q", "-x", "-p", "no:cacheprovider", "--timeout", "900", *sys.argv[2:]]))
