"""Runs a local service until this process is killed: ``python -m tests.support.owner HOME``. It prints the service's addresses."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from tongyao.runtime.local.service import LocalService
from tongyao.runtime.settings import Settings


async def own(home: Path) -> None:
    async with LocalService(Settings(home=home)) as service:
        print(service.model_dump_json(), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process of a shell ignores it
    asyncio.run(own(Path(sys.argv[1])))
