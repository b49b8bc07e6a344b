"""`worker.py` for the time-skipping server, which does not implement the list of search attributes that a worker checks first."""

from __future__ import annotations

from unittest.mock import patch

from temporalio.client import Client

import worker
from tongyao.runtime.process_exit import exit_process
from tongyao.runtime.temporal import workers


async def _unchecked(_: Client) -> None:
    """The fixture has registered them."""


if __name__ == "__main__":
    with patch.object(workers, "check_server", _unchecked):
        ended = worker.main()
    exit_process(ended)
