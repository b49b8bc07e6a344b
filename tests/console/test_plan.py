"""The plan's page and the report: every claim opens what it rests on, and the report needs nothing but itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Rule
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.processes import read_process
from tongyao.commands.export import report_of
from tongyao.gateway.console.report import report_html
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.rules.read_access import PartyView

XSS = (
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "</style><svg onload=window.hacked=1>",
    "\"><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "{{ 7*7 }}{% raw %}",
    "javascript:window.hacked=1",
    "' autofocus onfocus=window.hacked=1 x='",
)
PROFILES = {
    "anna": "I have a boatyard with a heated shed. I can lend it from May to August. I never lend it in winter.",
    "bo": "I repair engines. I can teach two people a year. I do not work at night.",
}


async def ended(harness: GatewayHarness, **settings: Any) -> tuple[str, str, str]:
    """A process that has come to its plan: its id, the demander's token and a participant's."""
    stack = harness.stack
    people = await stack.people(PROFILES)
    pid = await stack.start(people, auto_confirm=True, **settings)
    await stack.end(pid)
    demander = (await stack.repositories.processes.get(pid)).demander
    return pid, await harness.person(demander), await harness.person(people[0])


@pytest.fixture(scope="module")
async def over(gateway: GatewayHarness) -> tuple[str, str, str]:
    """A process that has ended, for tests that only read it: its id, the demander's token and a participant's."""
    return await ended(gateway)


async def test_every_claim_of_the_plan_opens_the_sentence_it_rests_on(
    console: Console, over: tuple[str, str, str]
) -> None:
    pid, demander, participant = over
    caller = Caller(Role.PERSON, (await console.harness.stack.repositories.processes.get(pid)).demander)
    plan = (await read_process(console.harness.context.repositories, caller, pid)).plan
    assert plan is not None
    notes = {note.number: note for note in plan_page(plan).notes}
    for token in (demander, participant):
        async with console.harness.visitor(token) as visitor:
            shown = await visitor.get(f"/processes/{pid}/plan")
            sources = [one for claim in shown.all(".claim") for one in claim.all(".src")]
            assert sources
            for source in sources:
                for line in notes[int(source.one("summary b").text)].lines:
                    assert " ".join(line.text.split()) in source.text
    async with console.visitor(demander) as page:
        await page.goto(f"{console.url}/console/processes/{pid}/plan")
        first = page.locator(".claim .src").first
        line = notes[int(await first.locator("summary b").inner_text())].lines[0]
        assert line.text not in await first.inner_text()
        await first.locator("summary").click()
        assert line.text in await first.inner_text()
        await looks_right(page)


async def test_a_claim_that_nothing_supports_is_marked(gateway: GatewayHarness) -> None:
    said = {"text": "Ten boxes hold two winters.", "sources": []}
    rule = Rule(step="plan", draft={"possible": [said]})
    gateway.engine.script.rules.append(rule)
    pid, demander, _ = await ended(gateway)
    gateway.engine.script.rules.remove(rule)
    async with gateway.visitor(demander) as visitor:
        page = await visitor.get(f"/processes/{pid}/plan")
        assert "nothing in the record says this" in page.one(".doubt", "Ten boxes hold two winters.").text


async def test_a_residual_is_taken_back_to_the_field_from_the_page(gateway: GatewayHarness) -> None:
    stack, engine = gateway.stack, gateway.engine
    engine.script.residuals = 1
    people = await stack.people(PROFILES)
    scene = (await stack.repositories.profiles.get_many([people[0]]))[people[0]].scene_id
    pid = await stack.start(people, scene=scene, auto_confirm=True, residuals="ask")
    await stack.until(pid, "answering")
    engine.script.residuals = 0
    demander = await gateway.person((await stack.repositories.processes.get(pid)).demander)
    async with gateway.visitor(demander) as visitor:
        await visitor.get(f"/processes/{pid}/plan")
        await visitor.submit("Look for other people for this")

        async def taken() -> bool:
            return bool(await stack.repositories.lineage.children(pid))

        await until(taken)
        page = await visitor.get(f"/processes/{pid}/plan")
        assert len(page.main.all("a", "People are already being looked for")) == 1
    for row in [*await stack.repositories.lineage.children(pid), await stack.repositories.processes.get(pid)]:
        await stack.handle(row.id).cancel()


async def test_who_may_not_read_the_plan_gets_no_page_and_no_file(
    gateway: GatewayHarness, over: tuple[str, str, str]
) -> None:
    for token in (await gateway.person("p-stranger"), await gateway.operator()):
        async with gateway.visitor(token) as visitor:
            for path in ("plan", "plan.md", "report.html"):
                answer = await visitor.http.get(f"/console/processes/{over[0]}/{path}")
                assert answer.status_code in (403, 404), path


async def opened(browser: Browser, file: Path, **more: Any) -> Page:
    """The file in a browser without a network; whatever it asks for fails the test."""
    context = await browser.new_context(**more)
    page = await context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url != file.as_uri() else None)
    await page.goto(file.as_uri())
    assert not asked, asked
    return page


async def test_the_report_is_one_file_that_loads_nothing_and_prints_every_source(
    console: Console, over: tuple[str, str, str], tmp_path: Path
) -> None:
    pid, demander, _ = over
    file = tmp_path / "report.html"
    file.write_text(await report_of(console.harness.stack.repositories, pid), encoding="utf-8")
    page = await opened(console.browser, file, viewport=PHONE)
    headings = await page.locator("h2").all_inner_texts()
    for heading in (
        "The intent, in four parts",
        "How the participants are related after round ",
        "The rounds",
        "The audit",
    ):
        assert sum(one.rstrip("0123456789") == heading for one in headings) == 1, (heading, headings)
    assert await page.evaluate("getComputedStyle(document.body).margin") == "0px", "its own style is refused"
    await page.locator(".src summary").first.click()
    assert await page.locator(".src blockquote").first.is_visible()
    await looks_right(page)
    await page.context.close()
    async with console.visitor(demander) as page:
        await page.goto(f"{console.url}/console/processes/{pid}/plan")
        async with page.expect_download() as waiting:
            await page.get_by_role("link", name="Save it as one file").click()
        kept = Path(await (await waiting.value).path())
        assert "The audit" not in kept.read_text(encoding="utf-8")


def poisoned(value: Any, attack: str, *, free: bool = False) -> Any:
    """A dumped model with `attack` behind every text that a person or a model wrote."""
    texts = {
        "text", "transition", "initial_state", "barriers", "exchange", "title", "role", "when", "outside", "name", "why", "words",
        "remarks", "intent", "markdown", "doubt", "answer_words", "identities",
    }  # fmt: skip
    if isinstance(value, dict):
        return {key: poisoned(one, attack, free=free or key in texts) for key, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, attack, free=free) for one in value]
    return f"{value} {attack}" if isinstance(value, str) and free else value


async def test_no_text_of_anybody_becomes_markup_in_the_report(
    console: Console, over: tuple[str, str, str], tmp_path: Path
) -> None:
    pid, _, _ = over
    caller = Caller(Role.PERSON, (await console.harness.stack.repositories.processes.get(pid)).demander)
    whole = (await read_process(console.harness.context.repositories, caller, pid)).model_dump(mode="json")
    whole["answers"], whole["answer_words"] = {"P01": "propose"}, {"P01": "begin earlier"}
    for number, attack in enumerate(XSS):
        view = PartyView.model_validate(poisoned(whole, attack))
        file = tmp_path / f"{number}.html"
        file.write_text(report_html(view, language="en", max_rounds=7), encoding="utf-8")
        page = await opened(console.browser, file)
        assert await page.evaluate("window.hacked") is None
        strange = "script, iframe, img, object, embed, form, [onload], [onerror], [onfocus], a[href^='javascript']"
        assert await page.locator(strange).count() == 0, attack
        assert await page.locator("body", has_text=attack).count() == 1, "it is shown as it was written"
        await page.context.close()


async def test_no_text_of_anybody_becomes_markup_on_the_plan_page(console: Console) -> None:
    attacks = " ".join(XSS)
    claim = {"text": f"A claim {attacks}", "sources": ["R1/P01/1"]}
    draft = {
        "date": claim,
        "possible": [claim],
        "offsets": [claim],
        "roles": [{"alias": "P01", "role": f"boats {attacks}", "conditions": [claim]}],
        "tasks": [{"id": "t1", "title": f"Lend it {attacks}", "assignee": "P01", "sources": ["R1/P01/1"]}],
    }
    rule = Rule(step="plan", draft=draft)
    console.harness.engine.script.rules.append(rule)
    pid, demander, _ = await ended(console.harness)
    console.harness.engine.script.rules.remove(rule)
    async with console.visitor(demander) as page:
        await page.goto(f"{console.url}/console/processes/{pid}/plan")
        assert await page.evaluate("window.hacked") is None
        assert await page.locator("main script, main iframe, main img, main [onload], main [onerror]").count() == 0
        assert await page.locator("main").get_by_text("A claim").count() > 0
