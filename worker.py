"""The worker: `python worker.py [all|process|models|field]`. It needs TEMPORAL_ADDRESS and DATABASE_URL.

Any replica of a role may die at any time. Another replica continues its work.
"""

from __future__ import annotations

import sys


def main() -> int:
    # Imported here, because the child processes of tongyao/limited_process.py import this file and need no worker.
    from tongyao.runtime import serve_worker

    return serve_worker.run(sys.argv[1] if len(sys.argv) > 1 else "all")


if __name__ == "__main__":
    from tongyao.runtime.process_exit import exit_process

    exit_process(main())
