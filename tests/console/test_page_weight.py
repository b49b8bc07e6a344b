"""What the process page weighs and how it comes up: at most 150 KB in all, and hardly anything moves once it is shown.

`python -m tests.console.test_page_weight` prints the figures, the first content under a CPU slowed down four times among
them, beside that of a page that says nothing: how long something takes is measured and not asserted.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass

import pytest
from playwright.async_api import Page, Route

from tests.console.conftest import PHONE, Console
from tests.console.room import ferry
from tests.support.until import until

MOST_BYTES = 150_000
MOST_MOVED = 0.02
"""Layout shift score (web.dev: good below 0.1). On a busy machine the end of the page arrives after its first paint."""
SLOWER = 4
TRIES = 3
OBSERVE = """
window.moved = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.moved += one.value; })
  .observe({ type: "layout-shift", buffered: true });
"""
READ = """() => ({
  bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .filter((one) => !one.name.includes("/live?")).reduce((sum, one) => sum + one.transferSize, 0),
  first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1,
  moved: window.moved,
})"""


@dataclass(frozen=True)
class Measures:
    """`bytes`: as transferred, of everything. `first`: milliseconds to the first content. `moved`: the layout shift score."""

    bytes: int
    first: float
    moved: float


async def never_answered(route: Route) -> None:
    """A stream that tells of no change: what is measured is the page as it was sent."""


async def measured(page: Page, url: str) -> Measures:
    """With empty caches and a slow CPU."""
    session = await page.context.new_cdp_session(page)
    await session.send("Network.clearBrowserCache")
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    await page.add_init_script(OBSERVE)
    await page.goto(url)
    painted = "performance.getEntriesByName('first-contentful-paint').length"
    await until(
        lambda: page.evaluate(painted), "the first paint"
    )  # wait_for_function asks by eval, which the page forbids
    await page.wait_for_timeout(500)  # what would move the page after it is shown
    return Measures(**await page.evaluate(READ))


async def test_the_process_page_is_light_and_hardly_anything_moves(
    console: Console, request: pytest.FixtureRequest
) -> None:
    """Where its output is shown, the figures are printed too: the medians of several tries."""
    house = await ferry(console.harness)
    await house.start()
    await house.until_round(3)
    for width in (PHONE["width"], 1280):
        async with console.visitor(house.tokens["P00"], viewport={"width": width, "height": 844}) as page:
            await page.route("**/live?*", never_answered)
            seen = await measured(page, f"{console.url}/console/processes/{house.pid}")
            if request.config.getoption("capture") == "no":
                await printed(page, console.url, house.pid, seen, width)
        assert 0 < seen.bytes < MOST_BYTES
        assert seen.moved < MOST_MOVED
    await house.stack.say(house.pid, "cancel")


async def printed(page: Page, url: str, process: str, seen: Measures, width: int) -> None:
    tried = [seen, *[await measured(page, f"{url}/console/processes/{process}") for _ in range(TRIES - 1)]]
    empty = [await measured(page, f"{url}/console/nothing") for _ in range(TRIES)]
    first, least = (statistics.median(one.first for one in all) for all in (tried, empty))
    print(
        f"\n{width} px: {seen.bytes / 1e3:.0f} KB, layout shift {seen.moved:.3f}; first content after {first:.0f} ms, "
        f"{first / least:.2f} times that of a page without content, {least:.0f} ms (medians of {TRIES})"
    )


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-s", "-p", "no:cacheprovider"]))
