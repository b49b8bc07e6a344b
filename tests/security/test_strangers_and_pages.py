"""What a stranger, a file from elsewhere and a page of another site tried, and may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.field.test_importing import GOOD
from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_standing import RESIDUAL, ended, town
from tests.workflows.test_children import CRANE
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.people.erasure import erase
from tongyao.field.profile_import import ImportReport, import_profiles
from tongyao.protocol.rules.consent import Consent, Origin
from tongyao.records.database import open_pool
from tongyao.records.people.consents import Consents
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes

__all__ = ["town"]

LINE_ENDS = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e")


async def imported(url: str, file: Path) -> tuple[ImportReport, set[str], dict[str, Consent]]:
    pool = await open_pool(url)
    try:
        profiles, consents = Profiles(pool), Consents(pool)
        report = await import_profiles(profiles, Scenes(pool), file, scene="s", consents=consents)
        there = {one.profile_id for one in await profiles.of_scene("s")}
        said = await consents.standing(sorted(there), "s")
        return report, there, {person: one.consent for person, one in said.items()}
    finally:
        await pool.close()


async def test_a_note_in_a_card_gives_no_consent_and_brings_nobody_else(
    fresh_database_url: str, tmp_path: Path
) -> None:
    """The attack: a line separator within a value began a line of its own, here a consent and the card of somebody else."""
    cards = ""
    for number, end in enumerate(LINE_ENDS):
        forged = end.join((GOOD, "X-CONSENT:allow", "END:VCARD", "BEGIN:VCARD", "UID:bo", f"NOTE:{GOOD}"))
        cards += f"BEGIN:VCARD\r\nUID:ada{number}\r\nX-CONSENT:never\r\nNOTE:{forged}\r\nEND:VCARD\r\n"
    (tmp_path / "p.vcf").write_text(cards, encoding="utf-8", newline="")
    _, there, said = await imported(fresh_database_url, tmp_path / "p.vcf")
    assert (len(there), "bo" in there, set(said.values())) == (len(LINE_ENDS), False, {Consent.NEVER})


async def test_a_file_gives_nobody_who_introduced_themselves_other_words(
    fresh_database_url: str, tmp_path: Path
) -> None:
    """The attack: an entry under the public id of somebody else became what their proxy speaks from."""
    pool = await open_pool(fresh_database_url)
    try:
        await Scenes(pool).put("s", "s")
        for id, origin in (("bo", Origin.API), ("ada", Origin.IMPORT)):
            await Profiles(pool).save(
                id, scene_id="s", display_name="", text=GOOD, grade="C", language="zh", origin=origin
            )
    finally:
        await pool.close()
    (tmp_path / "p.json").write_text(json.dumps({"bo": GOOD + "\n船坞", "ada": GOOD + "\n船坞"}))
    report, _, _ = await imported(fresh_database_url, tmp_path / "p.json")
    assert ([id for id, _ in report.refused], report.changed) == (["bo"], 1)


@pytest.mark.timeout(60)
async def test_a_table_with_many_columns_and_short_rows_is_read_at_once(
    fresh_database_url: str, tmp_path: Path
) -> None:
    """The attack: each short row was filled up to the columns of the first one, hours for 300 KB."""
    columns = ",".join(["id", *(f"c{n}" for n in range(10_000))])
    (tmp_path / "p.csv").write_text(columns + "\n" + "\n".join("x" for _ in range(10_000)) + f'\nada,"{GOOD}"\n')
    _, there, _ = await imported(fresh_database_url, tmp_path / "p.csv")
    assert there == {"ada"}
    cards = "BEGIN:VCARD\nUID:bo\n" + "NOTE:x\n" * 200_000 + f"NOTE:{GOOD}\nEND:VCARD\n"
    (tmp_path / "p.vcf").write_text(cards)
    _, there, _ = await imported(fresh_database_url, tmp_path / "p.vcf")
    assert "bo" in there


async def test_what_a_standing_tension_said_before_its_demander_chose_other_words_is_erased(
    town: GatewayHarness,
) -> None:
    """The attack: other words in the place of what rests on somebody's items kept these from their erasure."""
    case = await ended(town)
    standing, texts = town.context.repositories.standing, town.context.repositories.texts
    [before] = await standing.of_demander(f"demander-{case.scene}")
    assert before.people and str(CRANE["transition"]) in await texts.get(before.text_id)
    assert (await case.keep(tension={"transition": "From hands to a machine."})).status_code == 200
    person = case.room[0]["profile_id"]
    await erase(town.context, Caller(Role.PERSON, person), person)
    assert not (await texts.get_many([], known=[before.text_id])).get(before.text_id)
    [kept] = await standing.of_demander(f"demander-{case.scene}")
    assert "From hands" in await texts.get(kept.text_id)


async def test_a_button_shows_the_words_that_stand_beside_it_and_an_operator_brings_none(town: GatewayHarness) -> None:
    """The attack on a demander: "let others read it" beside one's own careful words showed all that one had asked at first."""
    case = await ended(town)
    words = {"transition": "From hands to a machine.", "barriers": ["No licence."]}
    await case.keep(residual="tension", tension=words)
    async with town.visitor(case.token) as visitor:
        page = await visitor.get("/standing")
        for do, visible in (("show", True), ("hide", False), ("show", True)):
            form = page.one("[name=residual][value=tension]").within("form")
            page = await visitor.submit(form.one(f"button[value={do}]"))
            own = {one["residual"]: one for one in (await case.readable(case.token))["own"]}["tension"]
            assert (own["visible"], own["tension"]["transition"]) == (visible, words["transition"])
    operator = await town.operator()
    given = {"residual": RESIDUAL, "visible": True, "tension": words}
    answer = await town.ask("PUT", f"/processes/{case.pid}/standing", operator, json=given)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


async def test_the_words_of_standing_tensions_count_as_what_is_kept_of_somebody(town: GatewayHarness) -> None:
    """The attack: each other wording of a standing tension was kept beside the ones before, without end."""
    case = await ended(town)
    kept = await town.context.repositories.texts.stored_chars(f"demander-{case.scene}")
    small = town.also(options=town.context.options.model_copy(update={"most_stored_chars": kept + 8_000}))
    answers = [
        await small.ask(
            "PUT",
            f"/processes/{case.pid}/standing",
            case.token,
            json={"residual": RESIDUAL, "tension": {"transition": f"{number}{'x' * 4_000}"}},
        )
        for number in range(3)
    ]
    assert [one.status_code for one in answers] == [200, 409, 409]
    assert answers[-1].json()["code"] == "storage_full"
