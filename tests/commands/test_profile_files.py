"""A profile given as a file has the name of its heading, and none without one (docs/protocol.md §6.3)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.command_line import tongyao
from tests.support.stack import Stack


async def test_the_name_of_a_file_never_becomes_a_name(stack: Stack, tmp_path: Path) -> None:
    texts = {
        "nurse.md": "I work nights as a nurse in the district hospital and look for a place to dig.",
        "clerk.md": "# Lena Fox\n\nI keep the books of the harbour and can teach how to read them.",
        "baker.md": "# About me\n\nI bake bread for the whole street and need a pitch on Saturdays.",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    named = [word for name in texts for word in ("--participant", str(tmp_path / name))]
    started = await tongyao("start", "--intent", "Every nurse should get bread.", *named, "--yes", "--json")
    assert started.exit_code == 0, started.output
    assert "baker.md: its heading 'About me' is not taken as a name" in started.stderr
    process = json.loads(started.stdout)["id"]
    await stack.end(process)
    sitting = (await stack.repositories.record(process)).participants
    assert sorted(one.identities for one in sitting) == [(), (), ("Lena Fox",)]
