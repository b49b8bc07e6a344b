"""Exit of programs that have used the Temporal SDK."""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def exit_process(code: int) -> NoReturn:
    """Flush logs and output, and exit without teardown of the SDK, which can crash at interpreter exit.

    Threads of the SDK outlive its client. A thread that returns to a finalizing interpreter ends the program with
    SIGABRT or SIGSEGV.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
