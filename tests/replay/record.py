"""Makes the histories anew: `make histories`. Until the first release that is all a changed workflow needs; after it,
running processes have the old histories, and a change goes behind `workflow.patched` (CONTRIBUTING.md).
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from temporalio.client import Client

from tests.replay.shapes import SHAPES, engine_of
from tests.support.stack import open_stack
from tongyao.records.migrate import migrate
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.serve_worker import plugin

HISTORIES = Path(__file__).with_name("histories")


async def record(names: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="tongyao-") as scratch:
        home = Path(scratch)
        postgres, temporal = (
            LocalPostgres(home, database="histories", durable=False),
            LocalTemporal(home, persistent=False),
        )
        url = postgres.start()
        migrate(url)
        try:
            await temporal.start()
            client = await Client.connect(temporal.address, plugins=[plugin()])
            for name in names:
                print(f"{name} …", end=" ", flush=True)
                engine = engine_of(name)
                async with open_stack(client, url, engine) as stack:
                    pid = await SHAPES[name][1](stack, engine)
                    history = await client.get_workflow_handle(pid).fetch_history()
                events = _anywhere(json.loads(history.to_json()))
                (HISTORIES / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(events).encode(), mtime=0))
                print(f"{len(events['events'])} events")
        finally:
            await asyncio.to_thread(temporal.stop)
            postgres.stop()


def _anywhere(value: Any) -> Any:
    """Without the name of the machine it was made on."""
    if isinstance(value, dict):
        return {key: "worker" if key == "identity" else _anywhere(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_anywhere(one) for one in value]
    return "sticky" if isinstance(value, str) and re.match(r"\d+@", value) else value


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1:] or list(SHAPES)))
