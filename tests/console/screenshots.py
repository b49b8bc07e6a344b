"""Pictures of every page, in both languages, both widths and both themes: `python -m tests.console.screenshots [FOLDER]`.

English pages show the ferry's case and Chinese ones the first demo's, so that texts and interface are in one language.
They are for eyes; the tests beside this file say what must hold.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page
from temporalio.client import Client

from tests.console.cases import Case, ferry_case, mountain_case
from tests.console.conftest import DESK, PHONE, Console, browser
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Rule, ScriptedEngine
from tests.support.serving import served
from tests.support.stack import open_stack
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import GatewayOptions
from tongyao.app.people.consents import ConsentBody, set_consent
from tongyao.commands.export import report_of
from tongyao.field.intent_field import IntentField
from tongyao.gateway.server import application
from tongyao.protocol.rules.consent import Consent
from tongyao.runtime.wiring import sort_intent

__all__ = ["browser"]

FOLDER = "TONGYAO_SCREENSHOTS"
ONLY = "TONGYAO_SCREENSHOTS_ONLY"
CASES: dict[str, Callable[[], Case]] = {"en": ferry_case, "zh": mountain_case}
MODEL_AWAY = {
    "en": "the account at the model server is empty: top it up, then resume (status 402)",
    "zh": "the account at the model server is empty: top it up, then resume (status 402)",
}
Act = Callable[[Page], Awaitable[object]]


class Camera:
    """Takes every page on a phone and a desk, light and dark. Each person keeps one browser."""

    def __init__(self, console: Console, language: str, closing: AsyncExitStack) -> None:
        self._console, self._language, self._closing = console, language, closing
        self._pages: dict[str, Page] = {}
        self._folder = Path(os.environ.get(FOLDER, "screenshots"))
        self._folder.mkdir(parents=True, exist_ok=True)

    async def shoot(self, name: str, path: str, secret: str = "", *, act: Act | None = None) -> None:
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
            await page.screenshot(path=self._path(name, width, theme), full_page=True)

    async def shoot_print(self, name: str, path: str, secret: str) -> None:
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


@pytest.fixture(params=["en", "zh"])
async def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def console(language: str, temporal: Client, database_url: str, browser: Browser) -> AsyncIterator[Console]:
    engine = ScriptedEngine(CASES[language]().script)
    async with open_stack(temporal, database_url, engine, field=lambda records: IntentField(records.pool)) as stack:
        options = GatewayOptions(rate="100000/minute", join_rate="100000/minute", address_rate="100000/minute")
        temporal_ui = "http://127.0.0.1:8233/namespaces/default/workflows"
        context = replace(
            stack.context,
            options=options,
            people_search=IntentField(stack.repositories.pool),
            sort_intent=sort_intent,
            temporal_ui=temporal_ui,
        )
        harness = GatewayHarness(stack, context, application(context), engine)
        async with served(harness.app) as url:
            yield Console(harness, browser, url)


@pytest.fixture
async def camera(console: Console, language: str) -> AsyncIterator[Camera]:
    async with AsyncExitStack() as closing:
        yield Camera(console, language, closing)


@pytest.fixture
async def house(console: Console, language: str) -> Ferry:
    found = await ferry(console.harness, CASES[language]())
    for alias in found.seats:
        await consent(found, alias, Consent.ALLOW)
    return found


async def consent(house: Ferry, alias: str, said: Consent) -> None:
    person = house.people[alias]
    await set_consent(
        house.harness.context, Caller(Role.PERSON, person, id="test"), person, house.scene, ConsentBody(consent=said)
    )


async def end(house: Ferry) -> None:
    await house.stack.say(house.pid, "cancel")


async def test_coming_in_and_errors(camera: Camera, house: Ferry) -> None:
    token = house.tokens["P00"]
    await camera.shoot("enter", "/console/enter")
    await camera.shoot("enter-link", "/console/enter?link=abc")
    await camera.shoot("enter-failed", "/console/enter", act=_wrong_token)
    await camera.shoot("inbox-empty", "/console/", token)
    await camera.shoot("processes-empty", "/console/processes", token)
    await camera.shoot("start", "/console/start", token)
    await camera.shoot("start-help", "/console/start", token, act=partial(_help, house.case.intent))
    await camera.shoot("start-refused", "/console/start", token, act=lambda page: page.locator("button.main").click())
    await camera.shoot("me", "/console/me", token)
    await camera.shoot("error-404", "/console/nothing", token)
    await camera.shoot("error-403", "/console/operators", token)
    await camera.shoot("error-process", "/console/processes/c-none", token)


async def _wrong_token(page: Page) -> None:
    await page.locator("#secret").fill("wrong")
    await page.locator("button.main").click()


async def _help(intent: str, page: Page) -> None:
    await page.locator("#intent").fill(intent)
    await page.locator("main details summary").click()
    await page.locator("[data-read]:not(:empty)").first.wait_for()


async def _open_all(page: Page) -> None:
    await page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")


async def test_before_the_rounds(camera: Camera, house: Ferry) -> None:
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start(chosen=False, auto_confirm=False)
    here = f"/console/processes/{house.pid}"
    await house.stack.until(house.pid, "confirming")
    await camera.shoot("tension", f"{here}/tension", demander)
    await camera.shoot("tension-change", f"{here}/tension", demander, act=_open_all)
    await camera.shoot("inbox-tension", "/console/", demander)
    await camera.shoot("process-confirming", here, demander)
    await house.stack.say(house.pid, "confirm_tension")
    await house.stack.until(house.pid, "selecting")
    await camera.shoot("people", f"{here}/people", demander)
    await camera.shoot("inbox-people", "/console/", demander)
    await consent(house, house.human, Consent.ASK)
    people = [{"profile_id": house.people[alias], "endpoint": "proxy"} for alias in house.seats]
    await house.stack.say(house.pid, "select_participants", participants=people)
    await house.stack.until(house.pid, "consenting")
    await camera.shoot("inbox-consent", "/console/", human)
    await camera.shoot("process-consenting", here, demander)
    await end(house)


async def test_in_the_rounds(camera: Camera, house: Ferry) -> None:
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start(max_rounds=3)
    here = f"/console/processes/{house.pid}"
    await house.until_round(1)
    await camera.shoot("inbox-round-1", "/console/", human)
    await camera.shoot("process-round-1", here, human)
    await house.until_round(3)
    ask = f"/console/asks/{house.pid}/projection/3"
    await camera.shoot("inbox", "/console/", human)
    await camera.shoot("inbox-preview", ask, human, act=_preview)
    await camera.shoot("inbox-leaving", ask, human, act=lambda page: page.locator("button[value=leave]").click())
    await camera.shoot("process-participant", here, human)
    await camera.shoot("process-demander", here, demander)
    await camera.shoot("process-footnotes", here, demander, act=_open_all)
    await camera.shoot("process-operator", here, await house.harness.operator())
    await camera.shoot("me-spoken", "/console/me", house.tokens["P01"])
    await camera.shoot("processes", "/console/processes", demander)
    await end(house)
    await house.stack.until(house.pid, "cancelled")
    await camera.shoot("process-cancelled", here, demander)


async def _preview(page: Page) -> None:
    names = {"zh": "我可以问问覃若梅，牌子放在哪里最好。", "en": "Isbel Croy can plan rosters; ask Una Sinclair."}
    language = await page.locator("html").get_attribute("lang") or "en"
    await page.locator("#words").fill(names[language[:2]])
    await page.locator("button[value=preview]").click()


async def test_a_decision(camera: Camera, house: Ferry) -> None:
    await house.start(max_rounds=2)
    await house.until_round(2)
    await house.speak(2)
    await house.stack.until(house.pid, "deciding")
    await camera.shoot("inbox-decision", "/console/", house.tokens["P00"])
    await camera.shoot("process-deciding", f"/console/processes/{house.pid}", house.tokens["P00"])
    await end(house)


async def test_the_plan_and_after(camera: Camera, house: Ferry, tmp_path: Path) -> None:
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start(residuals="ask", wait_for_children=True)
    here = f"/console/processes/{house.pid}"
    await house.until_answering()
    await camera.shoot("plan", f"{here}/plan", demander)
    await camera.shoot("plan-open", f"{here}/plan", demander, act=_open_all)
    await camera.shoot_print("plan", f"{here}/plan", demander)
    await camera.shoot("delivery", f"{here}/delivery", human)
    await camera.shoot_print("delivery", f"{here}/delivery", human)
    await camera.shoot("inbox-answer", "/console/", human)
    await camera.shoot("process-answering", here, demander)
    for alias in house.seats:
        answer = "decline" if alias == "P04" else "commit"
        await house.stack.say(house.pid, "answer_plan", alias=alias, revision=1, answer=answer)
    await house.stack.until(house.pid, "awaiting_children")
    await camera.shoot("delivery-committed", f"{here}/delivery", human)
    await camera.shoot("inbox-residual", "/console/", demander)
    await camera.shoot("plan-answered", f"{here}/plan", demander)
    for ask in await house.stack.repositories.inbox.of_process(house.pid, open_only=True):
        if ask.ask in ("residual", "hole"):
            await house.stack.say(house.pid, "approve_residual", residual=ask.subject, approve=False)
    await house.stack.say(house.pid, "conclude")
    await house.stack.end(house.pid)
    await camera.shoot("delivery-after", f"{here}/delivery", human)
    await camera.shoot("process-ended", here, human)
    report = tmp_path / "report.html"
    report.write_text(await report_of(house.stack.repositories, house.pid), encoding="utf-8")
    await camera.shoot("report", report.as_uri())


async def test_operators(camera: Camera, house: Ferry, language: str) -> None:
    operator, engine = await house.harness.operator(), house.harness.engine
    await camera.shoot("operators-quiet", "/console/operators", operator)
    flag = uuid.uuid4().hex
    engine.script.rules.insert(0, Rule(step="plan", do="operator_needed", until=flag, message=MODEL_AWAY[language]))
    people = await house.stack.people({"anna": "I have a boatyard.", "bo": "I repair engines."})
    held = [await house.stack.start(people, auto_confirm=True) for _ in range(3)]
    await house.start()
    for one in held:
        await house.stack.until_suspended(one)
    await house.stack.asked(house.pid, house.human, 1)
    for page in ("", "/running", "/waiting", "/suspended", "/failed"):
        await camera.shoot("operators" + page.replace("/", "-"), f"/console/operators{page}", operator)
    await camera.shoot("process-suspended", f"/console/processes/{held[0]}", operator)
    await camera.shoot("inbox-operator", "/console/", operator)
    engine.mend(flag)
    for one in held:
        await house.stack.say(one, "cancel")
    await end(house)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ[FOLDER] = sys.argv[1]
    sys.exit(pytest.main([__file__, "-q", "-x", "-p", "no:cacheprovider", "--timeout", "900", *sys.argv[2:]]))
