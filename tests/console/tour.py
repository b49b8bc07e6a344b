"""A tour of every page of the console, in the states that a process brings it to. Whoever looks says what for.

`screenshots.py` takes pictures; `test_every_page.py` looks for faults of accessibility and pages that are too wide.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from playwright.async_api import Browser, Page
from temporalio.client import Client

from tests.console.cases import Case, ferry_case, mountain_case
from tests.console.conftest import Console
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import UNLIMITED, GatewayHarness
from tests.support.scripted import Rule, ScriptedEngine
from tests.support.serving import served
from tests.support.stack import open_stack
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.people.consents import SceneConsentBody, set_consent
from tongyao.commands.export import report_of
from tongyao.field.intent_field import IntentField
from tongyao.gateway.server import application
from tongyao.protocol.rules.consent import Consent

CASES: Final[dict[str, Callable[[], Case]]] = {"en": ferry_case, "zh": mountain_case}
MODEL_AWAY: Final = "the account at the model server is empty: top it up, then resume (status 402)"
Act = Callable[[Page], Awaitable[object]]


class Looker(Protocol):
    """What is done at each page."""

    async def at(self, name: str, path: str, secret: str = "", *, act: Act | None = None) -> None:
        """Look at a page. `secret`: a token of who looks. `act`: what they do on it first. A path may be a whole address."""

    async def printed(self, name: str, path: str, secret: str) -> None:
        """Look at it as a printer gets it."""


@asynccontextmanager
async def opened(language: str, temporal: Client, database_url: str, browser: Browser) -> AsyncIterator[Console]:
    """A console over a stack whose engine plays the case of this language, with the real field."""
    engine = ScriptedEngine(CASES[language]().script)
    async with open_stack(temporal, database_url, engine, field=lambda records: IntentField(records.pool)) as stack:
        options = GatewayOptions.model_validate(UNLIMITED)
        context = replace(
            stack.context,
            options=options,
            people_search=IntentField(stack.repositories.pool),
            temporal_ui="http://127.0.0.1:8233/namespaces/default/workflows",
        )
        harness = GatewayHarness(stack, context, application(context), engine)
        async with served(harness.app) as url:
            yield Console(harness, browser, url)


async def people_of(console: Console, language: str) -> Ferry:
    """The people of the case; all of them allow their proxies to speak."""
    found = await ferry(console.harness, CASES[language]())
    for alias in found.seats:
        await consent(found, alias, Consent.ALLOW)
    return found


async def consent(house: Ferry, alias: str, said: Consent) -> None:
    person = house.people[alias]
    await set_consent(
        house.harness.context, Caller(Role.PERSON, person), person, house.scene, SceneConsentBody(consent=said)
    )


async def end(house: Ferry) -> None:
    await house.stack.say(house.pid, "cancel")


async def coming_in_and_errors(look: Looker, house: Ferry, folder: Path) -> None:
    token = house.tokens["P00"]
    await look.at("enter", "/console/enter")
    await look.at("enter-link", "/console/enter?link=abc")
    await look.at("enter-failed", "/console/enter", act=_wrong_token)
    await look.at("welcome", "/console/enter", act=_join)
    await look.at("inbox-empty", "/console/", token)
    await look.at("processes-empty", "/console/processes", token)
    await look.at("start", "/console/start", token)
    await look.at("start-refused", "/console/start", token, act=_empty)
    await look.at("me", "/console/me", token)
    await look.at("error-404", "/console/nothing", token)
    await look.at("error-403", "/console/operators", token)
    await look.at("error-process", "/console/processes/c-none", token)


async def _wrong_token(page: Page) -> None:
    await page.locator("#secret").fill("wrong")
    await page.locator("form:has(#secret) button").click()


async def _join(page: Page) -> None:
    """As somebody new each time."""
    await page.context.clear_cookies()
    await page.reload()
    await page.locator("#text").fill(
        "I mend nets and sails. I can lend a loft from March to May. I will not work on Sundays."
    )
    await page.locator("#name").fill("Runa Vestby")
    await page.locator("form:has(#text) button").click()


async def _empty(page: Page) -> None:
    """The draft of the help is there until something is started."""
    await page.locator("#intent").fill("")
    await page.locator("button.main").click()


async def _open_all(page: Page) -> None:
    await page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")


async def before_the_rounds(look: Looker, house: Ferry, folder: Path) -> None:
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start(chosen=False, auto_confirm=False)
    here = f"/console/processes/{house.pid}"
    await house.stack.until(house.pid, "confirming")
    await look.at("tension", f"{here}/tension", demander)
    await look.at("tension-change", f"{here}/tension", demander, act=_open_all)
    await look.at("inbox-tension", "/console/", demander)
    await look.at("process-confirming", here, demander)
    await house.stack.say(house.pid, "confirm_tension")
    await house.stack.until(house.pid, "selecting")
    await look.at("people", f"{here}/people", demander)
    await look.at("inbox-people", "/console/", demander)
    await consent(house, house.human, Consent.ASK)
    people = [{"profile_id": house.people[alias], "endpoint": "proxy"} for alias in house.seats]
    await house.stack.say(house.pid, "select_participants", participants=people)
    await house.stack.until(house.pid, "consenting")
    await look.at("inbox-consent", "/console/", human)
    await look.at("process-consenting", here, demander)
    await end(house)


async def in_the_rounds(look: Looker, house: Ferry, folder: Path) -> None:
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start(max_rounds=3)
    here = f"/console/processes/{house.pid}"
    await house.until_round(1)
    await look.at("inbox-round-1", "/console/", human)
    await look.at("process-round-1", here, human)
    await house.until_round(3)
    ask = f"/console/asks/{house.pid}/say/3/{house.human}"
    await look.at("inbox", "/console/", human)
    await look.at("inbox-preview", ask, human, act=_preview)
    await look.at("inbox-leaving", ask, human, act=lambda page: page.locator("button[value=leave]").click())
    await look.at("process-participant", here, human)
    await look.at("process-demander", here, demander)
    await look.at("process-footnotes", here, demander, act=_open_all)
    await look.at("process-operator", here, await house.harness.operator())
    await look.at("me-spoken", "/console/me", house.tokens["P01"])
    await look.at("processes", "/console/processes", demander)
    await end(house)
    await house.stack.until(house.pid, "cancelled")
    await look.at("process-cancelled", here, demander)


async def _preview(page: Page) -> None:
    names = {"zh": "我可以问问覃若梅，牌子放在哪里最好。", "en": "Isbel Croy can plan rosters; ask Una Sinclair."}
    language = await page.locator("html").get_attribute("lang") or "en"
    await page.locator("#words").fill(names[language[:2]])
    await page.locator("button[value=preview]").click()


async def a_decision(look: Looker, house: Ferry, folder: Path) -> None:
    await house.start(max_rounds=2)
    await house.until_round(2)
    await house.speak(2)
    await house.stack.until(house.pid, "deciding")
    await look.at("inbox-decision", "/console/", house.tokens["P00"])
    await look.at("process-deciding", f"/console/processes/{house.pid}", house.tokens["P00"])
    await end(house)


async def the_plan_and_after(look: Looker, house: Ferry, folder: Path) -> None:
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start(residuals="ask", wait_for_children=True)
    here = f"/console/processes/{house.pid}"
    await house.until_answering()
    await look.at("plan", f"{here}/plan", demander)
    await look.at("plan-open", f"{here}/plan", demander, act=_open_all)
    await look.printed("plan", f"{here}/plan", demander)
    await look.at("delivery", f"{here}/delivery", human)
    await look.printed("delivery", f"{here}/delivery", human)
    await look.at("inbox-answer", "/console/", human)
    await look.at("process-answering", here, demander)
    await house.stack.say(house.pid, "answer_plan", alias=house.human, revision=1, answer="commit")
    await house.stack.asked(house.pid, "P00", 1, what="residual")
    await look.at("delivery-committed", f"{here}/delivery", human)
    await look.at("inbox-residual", "/console/", demander)
    await look.at("plan-answered", f"{here}/plan", demander)
    for ask in await house.stack.repositories.inbox.of_process(house.pid, open_only=True):
        if ask.ask in ("residual", "hole"):
            await house.stack.say(house.pid, "approve_residual", residual=ask.subject, approve=False)
    await house.stack.end(house.pid)
    await look.at("delivery-after", f"{here}/delivery", human)
    await look.at("process-ended", here, human)
    await look.at("process-ended-demander", here, demander)
    await look.at("plan-ended", f"{here}/plan", demander)
    report = folder / "report.html"
    report.write_text(await report_of(house.stack.repositories, house.pid), encoding="utf-8")
    await look.at("report", report.as_uri())


async def a_second_version(look: Looker, house: Ferry, folder: Path) -> None:
    """The human writes two answers, then proposes a change and is asked anew."""
    human, demander = house.tokens[house.human], house.tokens["P00"]
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    here, asks = f"/console/processes/{house.pid}", f"/console/asks/{house.pid}"
    await look.at("delivery-two-answers", f"{here}/delivery", human, act=_two_answers)
    proposal = {"kind": "answer_plan", "revision": 1, "answer": "propose", "text": house.case.said[1]}
    sent = await house.harness.ask("POST", f"/processes/{house.pid}/messages", human, json=proposal)
    assert sent.status_code == 200, sent.text
    await house.stack.asked(house.pid, "P00", 1, what="replan")
    await look.at("inbox-replan", f"{asks}/replan/1", demander)
    assert (await house.stack.say(house.pid, "replan", proposals=[house.human])).accepted
    await house.stack.asked(house.pid, house.human, 2, what="answer")
    await look.at("inbox-answer-anew", "/console/", human)
    await look.at("delivery-anew", f"{here}/delivery", human)
    await house.stack.say(house.pid, "conclude")


async def a_declined_part(look: Looker, house: Ferry, folder: Path) -> None:
    demander = house.tokens["P00"]
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    here = f"/console/processes/{house.pid}"
    assert (await house.stack.say(house.pid, "answer_plan", alias=house.human, revision=1, answer="decline")).accepted
    await house.stack.asked(house.pid, "P00", int(house.human[1:]), what="hole")
    await look.at("inbox-hole", f"/console/asks/{house.pid}/residual/plan/1/hole/{house.human}", demander)
    await look.at("process-hole", here, demander)
    await look.at("plan-declined", f"{here}/plan", demander)
    await house.stack.say(house.pid, "conclude")
    await house.stack.until_ended(house.pid)
    await look.at("process-declined", here, demander)


async def _two_answers(page: Page) -> None:
    for name in ("propose", "decline"):
        await page.locator(f"summary:has(+ div #{name})").click()
        await page.locator(f"#{name}").fill("…")
    await page.locator("button[value=commit]").click()


async def what_stayed_open(look: Looker, house: Ferry, folder: Path) -> None:
    """Other people are looked for, for what the plan left open; the demander checks the words first."""
    demander = house.tokens["P00"]
    await house.start(residuals="ask", confirm_children=True)
    await house.until_answering()
    [ask, *_] = [
        one
        for one in await house.stack.repositories.inbox.of_process(house.pid, open_only=True)
        if one.ask == "residual"
    ]
    await house.stack.say(house.pid, "approve_residual", residual=ask.subject)
    await until(lambda: house.stack.repositories.lineage.children(house.pid), "a child")
    [child] = await house.stack.repositories.lineage.children(house.pid)
    here = f"/console/processes/{child.id}"
    await house.stack.until(child.id, "confirming")
    await look.at("child-tension", f"{here}/tension", demander)
    await look.at("child-process", here, demander)
    await house.stack.say(child.id, "confirm_tension")
    await house.stack.until(child.id, "selecting")
    await look.at("child-people", f"{here}/people", demander)
    await look.at("processes-tree", "/console/processes", demander)
    await house.stack.say(child.id, "cancel")
    await end(house)


async def operations(look: Looker, house: Ferry, folder: Path) -> None:
    operator, engine = await house.harness.operator(), house.harness.engine
    await look.at("operators-quiet", "/console/operators", operator)
    flag = uuid.uuid4().hex
    engine.script.rules.insert(0, Rule(step="plan", do="operator_needed", until=flag, message=MODEL_AWAY))
    people = await house.stack.people({"anna": "I have a boatyard.", "bo": "I repair engines."})
    held = [await house.stack.start(people, auto_confirm=True) for _ in range(3)]
    await house.start()
    for one in held:
        await house.stack.until_suspended(one)
    await house.stack.asked(house.pid, house.human, 1)
    for page in ("", "/running", "/waiting", "/suspended", "/failed"):
        await look.at("operators" + page.replace("/", "-"), f"/console/operators{page}", operator)
    await look.at("process-suspended", f"/console/processes/{held[0]}", operator)
    await look.at("inbox-operator", "/console/", operator)
    engine.mend(flag)
    for one in held:
        await house.stack.say(one, "cancel")
    await end(house)


Stage = Callable[[Looker, Ferry, Path], Awaitable[None]]
STAGES: Final[dict[str, Stage]] = {
    one.__name__: one
    for one in (
        coming_in_and_errors,
        before_the_rounds,
        in_the_rounds,
        a_decision,
        the_plan_and_after,
        a_second_version,
        a_declined_part,
        what_stayed_open,
        operations,
    )
}
