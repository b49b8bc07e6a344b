"""SQL statements of one whole process, by shape: `python -m bench.statements_bench [--width 150]`.

It runs the process of `tests/workflows/test_statements.py` (5 proxies, 4 rounds, 31 model calls) on a real Temporal
server and a PostgreSQL that logs every statement. A pipeline counts as its statements, and a call of an SQL function as
one. Transaction control is counted separately. It takes a quarter of a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from temporalio.client import Client

from tests.support.statements import count_process, counting_postgres
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.serve_worker import plugin


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=150, help="characters of each statement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tongyao-bench-") as folder:
        home = Path(folder)
        home.chmod(0o711)  # as root, PostgreSQL runs as another user, who needs access
        temporal = LocalTemporal(home, persistent=False)
        await temporal.start()
        try:
            client = await Client.connect(temporal.address, plugins=[plugin()])
            with counting_postgres(home) as postgres:
                print((await count_process(client, postgres)).table(options.width))
        finally:
            await asyncio.to_thread(temporal.stop)


if __name__ == "__main__":
    asyncio.run(main())
