"""The page of one's own profile says what became of what was sent, beside the field that it concerns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, expect

from tests.console.conftest import PHONE, Console

WORDS = "I mend nets and tar boats in the old harbour."


@asynccontextmanager
async def netmaker(console: Console, person: str, *, language: str = "en") -> AsyncIterator[Page]:
    """The page of somebody who wrote `WORDS`, on a phone."""
    stack = console.harness.stack
    await stack.register(person, scene=await console.harness.scene(), name="Eve Marsh", text=WORDS)
    async with console.visitor(await console.harness.person(person), language=language, viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/me")
        yield page


async def keep(page: Page, text: str | None = None, *, name: str = "Eve Marsh") -> None:
    if text is not None:
        await page.locator("#text").fill(text)
    await page.locator("#name").fill(name)
    await page.locator("button[value=profile]").click()


async def test_a_profile_that_was_not_changed_is_not_said_to_be_a_new_version(console: Console) -> None:
    async with netmaker(console, "p-eve-same") as page:
        await keep(page)
        await page.get_by_text("You changed nothing, so there is no new version.").wait_for()
        await keep(page, name="Eve Marshall")
        await page.get_by_text("Your name is saved. The text did not change").wait_for()
        await keep(page, f"{WORDS} I teach it, too.", name="Eve Marshall")
        await page.get_by_text("Your profile is saved as a new version.").wait_for()


async def test_a_form_opened_before_the_last_version_replaces_it_only_when_sent_again(console: Console) -> None:
    newer, mine = f"{WORDS} I have room for an apprentice.", f"{WORDS} I look for hemp."
    async with netmaker(console, "p-eve-tabs") as page:
        other = await page.context.new_page()
        await other.goto(f"{console.url}/console/me")
        await keep(other, newer)
        await other.get_by_text("Your profile is saved as a new version.").wait_for()
        await keep(page, mine)
        await page.get_by_text("another version of your profile was saved after you opened this page").wait_for()
        assert await page.locator("#text").input_value() == mine
        await other.goto(f"{console.url}/console/me")
        assert await other.locator("#text").input_value() == newer
        await keep(page)
        await page.get_by_text("Your profile is saved as a new version.").wait_for()
        assert await page.locator("#text").input_value() == mine


async def test_an_empty_profile_is_named_beside_its_field(console: Console) -> None:
    async with netmaker(console, "p-eve-empty", language="zh") as page:
        for text in ("", "  \n "):
            await keep(page, text)
            await page.locator("form:has(#text) [role=alert]", has_text="档案是空的").wait_for()
            await expect(page.locator("#text")).to_be_focused()
        assert await page.get_by_role("alert").count() == 1


async def test_a_wrong_word_at_erasing_is_said_beside_its_open_box(console: Console) -> None:
    async with netmaker(console, "p-eve-word") as page:
        await page.get_by_text("Erase me", exact=True).click()
        await page.locator("#sure").fill("yes")
        await page.get_by_role("button", name="Erase me now").click()
        said = page.locator("details:has(#sure) [role=alert]")
        await expect(said).to_be_in_viewport()
        assert await said.inner_text() == "Type the word to confirm."
        await expect(page.locator("#sure")).to_be_focused()
        assert await page.get_by_role("alert").count() == 1
