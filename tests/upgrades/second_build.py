"""A second build for rehearsals: a copy of this tree with a migration, a message of a new kind, and new rules.

Under rules 2 an extension counts double, and operators may send `nudge`, which a new column of `processes` counts.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
_PARTS: Final = ("tongyao", "crystalline_highway", "workflows", "activities", "prompts", "worker.py")

MIGRATION: Final = "ALTER TABLE processes ADD COLUMN nudges integer NOT NULL DEFAULT 0;\n"

_CHANGES: Final = {
    "tongyao/protocol/life/state.py": [
        ("LOGIC: Final = 1\n", "LOGIC: Final = 2\n"),
        ("CARRIED_LOGIC: Final = (1,)\n", "CARRIED_LOGIC: Final = (1, 2)\n"),
        ("    phase: Phase = Phase.FORMULATING\n", "    phase: Phase = Phase.FORMULATING\n    nudges: int = 0\n"),
    ],
    "tongyao/protocol/model/messages.py": [
        (
            "Message = Annotated[\n",
            'class Nudge(_Message):\n    kind: Literal["nudge"] = "nudge"\n\n\nMessage = Annotated[\n',
        ),
        ("    | Upgrade,\n", "    | Upgrade\n    | Nudge,\n"),
    ],
    "tongyao/protocol/model/events.py": [('    cost: str = "0"\n', '    cost: str = "0"\n    nudges: int = 0\n')],
    "tongyao/protocol/life/machine.py": [
        (
            "    Kind(m.Cancel, _DEMANDER,",
            '    Kind(m.Nudge, frozenset({"operator"}), lambda state, _: None if state.logic >= 2 else Refusal.NOT_NOW,\n'
            '         lambda state, *_: setattr(state, "nudges", state.nudges + 1), "Nudge."),\n'
            "    Kind(m.Cancel, _DEMANDER,",
        ),
    ],
    "tongyao/protocol/life/turns.py": [
        (
            "late + timedelta(seconds=message.seconds)",
            "late + timedelta(seconds=message.seconds) * (2 if state.logic >= 2 else 1)",
        ),
    ],
    "tongyao/protocol/life/snapshot.py": [
        ("        cost=str(state.spent.cost),\n", "        cost=str(state.spent.cost),\n        nudges=state.nudges,\n")
    ],
    "tongyao/records/process/journal.py": [
        ("cost = %(cost)s::numeric,", "cost = %(cost)s::numeric, nudges = %(nudges)s,")
    ],
}

SEND_NUDGE: Final = """
import asyncio, sys, uuid
from tongyao.protocol.model.messages import Author, Nudge
from tongyao.runtime import installation
from tongyao.runtime.settings import load_settings

async def main(process):
    async with installation.running(load_settings()) as installed:
        nudge = Nudge(key=uuid.uuid4().hex, author=Author(role="operator"))
        stored = await installed.context.relay.send(process, nudge, author_id="operator", via="test", wait=60)
        print(stored.verdict.code if stored.verdict else "waiting")

asyncio.run(main(sys.argv[1]))
"""
"""A program for the second build: sends `nudge` to the process of its argument and prints the code of the verdict."""


def make_second_build(folder: Path) -> Path:
    """Write the tree into `folder` and return it. Fails where a place to be changed is not there exactly once."""
    for part in _PARTS:
        source = REPOSITORY / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    for name, changes in _CHANGES.items():
        text = (folder / name).read_text(encoding="utf-8")
        for before, after in changes:
            assert text.count(before) == 1, f"{name}: {text.count(before)} times {before!r}"
            text = text.replace(before, after)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "tongyao/records/migrations/0099_nudges.sql").write_text(MIGRATION, encoding="utf-8")
    return folder
