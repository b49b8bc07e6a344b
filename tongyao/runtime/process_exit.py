"""The end of a program that has used the Temporal SDK."""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End now, with what was printed written out.

    The SDK's threads outlive its client; now and then one returns to an interpreter that is half taken down, which ends the
    program with SIGABRT or SIGSEGV after all its work is done. So nothing is taken down.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
