"""Files of people: what is wrong is refused by name and costs nobody else; killed in the middle, it is repeated."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tongyao.field.profile_import import ImportReport, NotProfiles, import_profiles
from tongyao.protocol.rules.consent import Consent
from tongyao.records.database import Pool, open_pool
from tongyao.records.people.consents import Consents
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes
from tongyao.records.privacy.texts import Texts

GOOD = "技能：修船\n兴趣：海图"


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url)
    yield pool
    await pool.close()


async def imported(pool: Pool, path: Path, content: str | bytes) -> ImportReport:
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return await import_profiles(Profiles(pool), Scenes(pool), path, scene="s")


async def text_of(pool: Pool, id: str) -> str:
    return await Texts(pool).get((await Profiles(pool).version(id)).text_id)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "it is empty"),
        ({}, "it is empty"),
        ({"name": " ", "skills": []}, "it is empty"),
        ("<p> </p>", "it is empty"),
        ({"姓名": "李", "age": 30}, "it contains only a name"),
        (7, "an object of fields, or text"),
        (None, "an object of fields, or text"),
        ([["a", 1]], "an object of fields, or text"),
        ("长" * 5_000_001, "5,000,001 characters; at most 2,000,000"),
    ],
    ids=[
        "nothing",
        "no fields",
        "blank fields",
        "only tags",
        "a name alone",
        "a number",
        "null",
        "a list",
        "one line of 15 MB",
    ],
)
async def test_a_profile_that_is_none_is_refused_and_the_rest_comes_in(
    pool: Pool, tmp_path: Path, bad: object, said: str
) -> None:
    report = await imported(pool, tmp_path / "p.json", json.dumps({"bad": bad, "good": GOOD}, ensure_ascii=False))
    assert report.stored == 1
    [(id, reason)] = report.refused
    assert id == "bad"
    assert said in reason


async def test_bytes_that_are_no_utf8_cost_only_whom_they_stand_in(pool: Pool, tmp_path: Path) -> None:
    content = b'{"broken": "\xd0\xde\xb4\xac", "good": "' + GOOD.replace("\n", "；").encode() + b'"}'
    report = await imported(pool, tmp_path / "p.json", content)
    assert (report.stored, [id for id, _ in report.refused]) == (1, ["broken"])
    assert "UTF-8" in report.refused[0][1]
    report = await imported(pool, tmp_path / "p.csv", b"id,skills\nx,\xd0\xde\ny,knots\n")
    assert (report.stored, [id for id, _ in report.refused]) == (1, ["x"])


async def test_ids_that_stand_twice_are_told_and_the_first_one_counts(pool: Pool, tmp_path: Path) -> None:
    rows = [{"id": "a", "bio": "first"}, {"id": "a", "bio": "second"}, {"bio": "without an id"}]
    report = await imported(pool, tmp_path / "p.json", json.dumps(rows))
    assert report.stored == 2
    assert report.refused == [("a", "this file already contains this id: the first one counts")]
    assert "first" in await text_of(pool, "a")
    report = await imported(pool, tmp_path / "q.json", '{"b": "one", "b": "two", "c": {"会": "焊", "会": "铆"}}')
    assert (report.stored, [id for id, _ in report.refused]) == (2, ["b"])
    assert await text_of(pool, "c") == "会：焊\n会：铆", "a field given twice loses nothing"


async def test_entries_without_an_id_of_two_files_do_not_meet_and_the_same_file_twice_changes_nothing(
    pool: Pool, tmp_path: Path
) -> None:
    for name, one, other in (
        ("p.json", '["I mend boats on the lake.", "I bake bread at night."]', '["I paint signs for shops."]'),
        ("p.csv", "skills,wants\nrigging,a crew\n", "skills,wants\nwelding,a yard\n"),
    ):
        first = await imported(pool, tmp_path / name, one)
        second = await imported(pool, tmp_path / name, other)
        assert (first.changed, second.new, second.changed, second.refused) == (0, 1, 0, [])
        again = await imported(pool, tmp_path / name, one)
        assert (again.stored, again.new, again.changed) == (first.stored, 0, 0)
    assert len(await Profiles(pool).of_scene("s")) == 5
    elsewhere = await import_profiles(Profiles(pool), Scenes(pool), tmp_path / "p.json", scene="elsewhere")
    assert (elsewhere.new, elsewhere.refused) == (2, [])


@pytest.mark.parametrize("id", ["a/b", "..", "?x", "two words", "x\ny", "#a", "i" * 121])
async def test_ids_that_no_other_way_in_takes_are_refused(pool: Pool, tmp_path: Path, id: str) -> None:
    report = await imported(pool, tmp_path / "p.json", json.dumps({id: GOOD, "good": GOOD}))
    assert (report.stored, [refused for refused, _ in report.refused]) == (1, [id])
    assert "cannot be an id" in report.refused[0][1]


async def test_one_who_cannot_be_stored_costs_none_of_those_stored_with_them(pool: Pool, tmp_path: Path) -> None:
    await Scenes(pool).put("elsewhere", "Elsewhere")
    await Profiles(pool).save("li", scene_id="elsewhere", display_name="li", text=GOOD, grade="C", language="zh")
    await imported(pool, tmp_path / "p.json", json.dumps({"gone": GOOD}))
    await Profiles(pool).delete("gone")
    people = {"li": GOOD, "gone": GOOD, **{f"p{number}": f"技能：第 {number} 种手艺" for number in range(30)}}
    report = await imported(pool, tmp_path / "p.json", json.dumps(people))
    assert report.stored == 30
    assert sorted(id for id, _ in report.refused) == ["gone", "li"]
    assert all("was deleted, or belongs to another scene" in reason for _, reason in report.refused)
    changed = await imported(
        pool, tmp_path / "p.json", json.dumps({"p1": "技能：另一种手艺", "p2": "技能：第 2 种手艺"})
    )
    assert (changed.stored, (await Profiles(pool).version("p1")).version) == (2, 2)
    assert (await Profiles(pool).version("p2")).version == 1


async def test_who_was_erased_is_not_brought_back_by_a_file(pool: Pool, tmp_path: Path) -> None:
    async with pool.connection() as connection:
        await connection.execute("INSERT INTO tombstones (owner) VALUES ('erased')")
    report = await imported(pool, tmp_path / "p.json", json.dumps({"erased": GOOD, "other": GOOD}))
    assert (report.stored, [id for id, _ in report.refused]) == (1, ["erased"])
    assert {one.profile_id for one in await Profiles(pool).of_scene("s")} == {"other"}


async def test_tags_and_control_characters_are_taken_out_and_words_stay(pool: Pool, tmp_path: Path) -> None:
    text = "<script>alert('x')</script><b>修船</b>&amp;木工\x00\x07\x1b[31m，水温 < 5 度也下水"
    report = await imported(pool, tmp_path / "p.json", json.dumps({"a": text}))
    assert report.stored == 1
    kept = await text_of(pool, "a")
    assert "修船" in kept and "&木工" in kept and "水温 < 5 度" in kept
    assert not any(word in kept for word in ("alert", "<b>", "\x00", "\x1b"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.json", "[1, 2"),
        ("p.json", "7"),
        ("p.json", '"text"'),
        ("p.json", "[" * 100_000),
        ("p.json", ""),
        ("p.json", "{}"),
        ("p.json", "[]"),
        ("p.csv", "id,skills\n"),
        ("p.json", '{"a": "b"}'.encode("utf-16")),
    ],
    ids=[
        "cut off",
        "a number",
        "text alone",
        "nested too deeply",
        "nothing",
        "an empty object",
        "an empty list",
        "headings alone",
        "UTF-16",
    ],
)
async def test_a_file_of_the_wrong_shape_is_refused_whole_with_what_is_expected(
    pool: Pool, tmp_path: Path, name: str, content: str | bytes
) -> None:
    with pytest.raises(NotProfiles, match=r"p\.(json|csv)"):
        await imported(pool, tmp_path / name, content)


async def test_links_that_lead_out_of_a_folder_are_refused(pool: Pool, tmp_path: Path) -> None:
    folder, outside = tmp_path / "people", tmp_path / "elsewhere"
    folder.mkdir()
    outside.mkdir()
    (folder / "ada.md").write_text(GOOD)
    (folder / "again.md").symlink_to("ada.md")
    (outside / "secret.md").write_text("I hold a key that nobody here may read. " + GOOD)
    (folder / "bo.md").symlink_to(outside / "secret.md")
    (folder / "more").symlink_to(outside, target_is_directory=True)
    (folder / "round.md").symlink_to("round.md")
    report = await import_profiles(Profiles(pool), Scenes(pool), folder, scene="s")
    assert {one.profile_id for one in await Profiles(pool).of_scene("s")} == {"ada", "again"}
    assert {name for name, _ in report.refused} == {"bo", "round"}
    assert all("link" in reason for _, reason in report.refused)


async def test_every_form_of_file_is_read(pool: Pool, tmp_path: Path) -> None:
    assert (await imported(pool, tmp_path / "p.csv", "\ufeffid,技能\n张,修船\n")).stored == 1
    assert (await imported(pool, tmp_path / "p.json", json.dumps({"profiles": [{"id": "li", "bio": "x"}]}))).stored == 1
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "wang.md").write_text("# 王\n修船", encoding="utf-8")
    (tmp_path / "folder" / "Li Na.md").write_text("I keep bees.", encoding="utf-8")
    (tmp_path / "folder" / "zhao.md").write_bytes(b"\xff")
    report = await import_profiles(Profiles(pool), Scenes(pool), tmp_path / "folder", scene="s")
    assert (report.stored, [id for id, _ in report.refused]) == (2, ["zhao"])
    assert {one.profile_id for one in await Profiles(pool).of_scene("s")} == {"张", "li", "wang", "Li-Na"}


async def test_the_first_heading_of_a_text_is_its_persons_name_and_the_name_of_the_file_never_is(
    pool: Pool, tmp_path: Path
) -> None:
    texts = {"reed": "# Lucy Farrow\n## What I do\nI teach.", "about": "# About me\nI keep bees.", "nurse": "I nurse."}
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    await import_profiles(Profiles(pool), Scenes(pool), tmp_path, scene="s")
    names = {name: (await Profiles(pool).get(name)).display_name for name in texts}
    assert names == {"reed": "Lucy Farrow", "about": "", "nurse": ""}


@pytest.mark.slow
async def test_killed_in_the_middle_and_repeated_nobody_is_missing_and_none_is_there_twice(
    pool: Pool, fresh_database_url: str, tmp_path: Path
) -> None:
    people = {f"p{number}": {"技能": f"第 {number} 种手艺", "在找": "同伴"} for number in range(5000)}
    file = tmp_path / "many.json"
    file.write_text(json.dumps(people), encoding="utf-8")
    script = """if True:
        import asyncio, sys
        from pathlib import Path
        from tongyao.field.profile_import import import_profiles
        from tongyao.records.database import open_pool
        from tongyao.records.people.profiles import Profiles
        from tongyao.records.people.scenes import Scenes

        async def main():
            pool = await open_pool(sys.argv[1])
            await import_profiles(Profiles(pool), Scenes(pool), Path(sys.argv[2]), scene="s", progress=lambda done, total: print(done, flush=True))

        asyncio.run(main())
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, fresh_database_url, str(file), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async for line in process.stdout:
        if int(line) >= 1500:
            process.send_signal(signal.SIGKILL)
            break
    await process.wait()
    there = {one.profile_id for one in await Profiles(pool).of_scene("s")}
    assert 1500 <= len(there) < 5000, "it was killed in the middle"

    report = await import_profiles(Profiles(pool), Scenes(pool), file, scene="s")
    assert (report.stored, report.refused) == (5000, [])
    versions = await Profiles(pool).of_scene("s")
    assert {one.profile_id for one in versions} == set(people)
    assert {one.version for one in versions} == {1}
    async with pool.connection() as connection:
        cursor = await connection.execute("SELECT count(*) AS texts FROM texts WHERE kind = 'profile'")
        row = await cursor.fetchone()
    assert row is not None and row["texts"] == 5000


async def test_what_is_refused_is_said_in_both_languages(pool: Pool, tmp_path: Path) -> None:
    report = await imported(pool, tmp_path / "p.json", json.dumps({"a": GOOD, "b": "", "c": 7}))
    assert [reason.zh for _, reason in report.refused] == [
        "内容是空的：请写这个人是谁、做什么",
        "这是单个值：档案应是由字段组成的对象，或一段文字",
    ]
    with pytest.raises(NotProfiles) as no_json:
        await imported(pool, tmp_path / "q.json", "not JSON")
    assert "is not JSON (line 1)" in str(no_json.value) and "不是 JSON（第 1 行）" in no_json.value.reason.zh


CARDS = """BEGIN:VCARD
VERSION:4.0
UID:urn:uuid:ada-1
FN:Ada Lindqvist
TITLE:Harbour crane operator
ORG:North Quay
EMAIL:ada@example.org
NOTE:I lift crates from two jetties and am looking for
  a deckhand\\, in winter.
X-CONSENT:never
END:VCARD
BEGIN:VCARD
VERSION:4.0
FN:Nobody
X-CONSENT:perhaps
NOTE:I mend nets and can offer nets.
END:VCARD
"""


async def test_cards_of_people_come_in_with_their_consent_and_without_their_addresses(
    fresh_database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "people.vcf"
    file.write_text(CARDS, encoding="utf-8")
    pool = await open_pool(fresh_database_url)
    try:
        profiles, consents = Profiles(pool), Consents(pool)
        counted: list[tuple[int, int]] = []
        dry = await import_profiles(
            profiles,
            Scenes(pool),
            file,
            scene="quay",
            consents=consents,
            dry_run=True,
            progress=lambda done, total: counted.append((done, total)),
        )
        assert counted == [(2, 2)]
        assert (dry.new, dry.changed, [id for id, _ in dry.refused]) == (1, 0, ["Nobody"])
        assert await profiles.of_scene("quay") == [], "a dry run stores nothing"
        assert "quay" not in {scene.id for scene in await Scenes(pool).all()}
        report = await import_profiles(profiles, Scenes(pool), file, scene="quay", consents=consents)
        assert (report.new, report.changed, report.refused) == (dry.new, dry.changed, dry.refused)
        [ada] = await profiles.of_scene("quay")
        text = await Texts(pool).get(ada.text_id)
        assert "looking for a deckhand, in winter" in text and "ada@example.org" not in text and "never" not in text
        assert (await profiles.get(ada.profile_id)).display_name == "Ada Lindqvist"
        assert (await consents.standing([ada.profile_id], "quay"))[ada.profile_id].consent is Consent.NEVER
        await consents.put(ada.profile_id, "quay", Consent.ALLOW)
        await import_profiles(profiles, Scenes(pool), file, scene="quay", consents=consents)
        assert (await consents.standing([ada.profile_id], "quay"))[ada.profile_id].consent is Consent.ALLOW
    finally:
        await pool.close()


async def test_a_column_may_say_consent_and_language_and_neither_is_part_of_the_profile(
    fresh_database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(
        "id,name,skills,language,consent\nbo,Bo,Bakes bread,zh,ask\ncy,Cy,Sails a ferry,Danish,\n", encoding="utf-8"
    )
    pool = await open_pool(fresh_database_url)
    try:
        profiles, consents = Profiles(pool), Consents(pool)
        await import_profiles(profiles, Scenes(pool), file, scene="quay", consents=consents)
        bo, cy = await profiles.of_scene("quay")
        assert (bo.language, cy.language) == ("zh", "en")
        assert "ask" not in (await Texts(pool).get(bo.text_id)).split("：")
        assert "Danish" in await Texts(pool).get(cy.text_id), "a language that somebody speaks is of their profile"
        known = await consents.standing(["bo", "cy"], "quay")
        assert (known["bo"].consent, known["cy"].consent) == (Consent.ASK, Consent.ALLOW)
    finally:
        await pool.close()


async def test_what_python_cannot_read_of_one_costs_nobody_else(pool: Pool, tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    people = f'{{"ada": "船坞", "long": {{"bio": "海图", "n": {"1" * 5_000}}}, "deep": {{"bio": {deep}}}}}'
    report = await imported(pool, tmp_path / "p.json", people.replace("船坞", "我修船").replace("海图", "我画海图"))
    assert [id for id, _ in report.refused] == ["deep"]
    (tmp_path / "all" / "folder.md").mkdir(parents=True)
    (tmp_path / "all" / "bo.md").write_text(GOOD)
    report = await import_profiles(Profiles(pool), Scenes(pool), tmp_path / "all", scene="s")
    assert (report.stored, report.refused) == (1, [])
