"""The page of one's own profile says what became of what was sent, beside the field that it concerns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, expect

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.gateway.conftest import GatewayHarness

WORDS = "I mend nets and tar boats in the old harbour."
SAVED = "Your profile is saved as a new version."
SAVE = "[value=profile]"


async def netmaker(gateway: GatewayHarness, person: str) -> str:
    """The token of somebody who wrote `WORDS`."""
    await gateway.stack.register(person, scene=await gateway.scene(), name="Eve Marsh", text=WORDS)
    return await gateway.person(person)


@asynccontextmanager
async def on_a_phone(console: Console, person: str) -> AsyncIterator[Page]:
    """Their page in a browser, in Chinese."""
    token = await netmaker(console.harness, person)
    async with console.visitor(token, language="zh", viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/me")
        yield page


async def test_a_profile_that_was_not_changed_is_not_said_to_be_a_new_version(gateway: GatewayHarness) -> None:
    async with gateway.visitor(await netmaker(gateway, "p-eve-same")) as visitor:
        await visitor.get("/me")
        page = await visitor.submit(SAVE)
        assert any("You changed nothing, so there is no new version." in one for one in page.status)
        page = await visitor.submit(SAVE, {"#name": "Eve Marshall"})
        assert any("Your name is saved. The text did not change" in one for one in page.status)
        page = await visitor.submit(SAVE, {"#text": f"{WORDS} I teach it, too."})
        assert SAVED in page.status
        assert (page.h1, page.field("#text").value) == ("Eve Marshall", f"{WORDS} I teach it, too.")


async def test_a_form_opened_before_the_last_version_replaces_it_only_when_sent_again(gateway: GatewayHarness) -> None:
    newer, mine = f"{WORDS} I have room for an apprentice.", f"{WORDS} I look for hemp."
    token = await netmaker(gateway, "p-eve-tabs")
    async with gateway.visitor(token) as visitor, gateway.visitor(token) as other:
        await visitor.get("/me")
        await other.get("/me")
        assert SAVED in (await other.submit(SAVE, {"#text": newer})).status
        page = await visitor.submit(SAVE, {"#text": mine}, code=422)
        assert "another version of your profile was saved after you opened this page" in page.alert
        assert page.field("#text").value == mine
        assert (await other.get("/me")).field("#text").value == newer
        page = await visitor.submit(SAVE)
        assert SAVED in page.status
        assert page.field("#text").value == mine


async def test_an_empty_profile_is_named_beside_its_field(console: Console) -> None:
    async with on_a_phone(console, "p-eve-empty") as page:
        for text in ("", "  \n "):
            await page.locator("#text").fill(text)
            await page.locator("button[value=profile]").click()
            await page.locator("form:has(#text) [role=alert]", has_text="档案是空的").wait_for()
            await expect(page.locator("#text")).to_be_focused()
        assert await page.get_by_role("alert").count() == 1
        await looks_right(page)


async def test_a_wrong_word_at_erasing_is_said_beside_its_open_box(console: Console) -> None:
    async with on_a_phone(console, "p-eve-word") as page:
        await page.locator("summary:text-is('把我抹去')").click()
        await page.locator("#sure").fill("yes")
        await page.locator("button[value=erase]").click()
        said = page.locator("details:has(#sure) [role=alert]")
        await expect(said).to_be_in_viewport()
        await expect(page.locator("#sure")).to_be_focused()
        assert await page.get_by_role("alert").count() == 1
    async with console.harness.visitor(await console.harness.person("p-eve-word")) as visitor:
        await visitor.get("/me")
        refused = await visitor.submit("Erase me now", {"#sure": "yes"}, code=422)
        assert refused.one("details [role=alert]").text == "Type the word to confirm."
