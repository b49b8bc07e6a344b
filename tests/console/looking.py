"""What must hold of every page, however it is looked at."""

from __future__ import annotations

from typing import Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page


async def looks_right(page: Page) -> None:
    """No serious finding of axe-core in light or dark, and nothing to scroll sideways on a small phone."""
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        await page.emulate_media(color_scheme=theme)
        found = (await Axe().run(page)).response["violations"]
        serious = [
            (theme, one["id"], [node["html"][:200] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, serious
    await page.emulate_media(color_scheme=None)
    size = page.viewport_size
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{page.url}: {wide} px at {width}"
    if size is not None:
        await page.set_viewport_size(size)
