"""`make nightly`: a part that fails hides no other, and every slow test is in a part."""

from __future__ import annotations

from pathlib import Path

from tests import nightly
from tests.nightly import Part, report, run


async def test_the_end_lists_what_failed_and_the_other_parts_run(tmp_path: Path) -> None:
    chosen = [
        Part("fails", "servers", ("-c", "print('why it failed'); raise SystemExit(3)"), 1),
        Part("goes-on", "servers", ("-c", "print('fine')"), 1),
        Part("hangs", "processor", ("-c", "import time; time.sleep(600)"), 0.01),
    ]

    ended = await run(chosen, tmp_path)

    assert {one.part.name: bool(one.failure) for one in ended} == {"fails": True, "goes-on": False, "hangs": True}
    shown = report(ended)
    assert "why it failed" in shown and "fine" not in shown
    assert [line.split()[:2] for line in shown.splitlines()[-3:]] == [
        ["FAILED", "fails"],
        ["ok", "goes-on"],
        ["FAILED", "hangs"],
    ]


def test_every_folder_of_a_part_is_there() -> None:
    folders = [folder for _, _, folders in nightly.SLOW_TESTS.values() for folder in folders]
    assert not [folder for folder in (*folders, *nightly.OF_PARTS) if not (nightly.REPOSITORY / folder).is_dir()]
    assert len({part.name for part in nightly.parts()}) == len(nightly.parts())
