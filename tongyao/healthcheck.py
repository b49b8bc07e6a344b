"""`python -m tongyao.healthcheck`: the health check of a container. It tests whether the worker or gateway in it is
ready.

It runs every few seconds, so it imports only the standard library.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_SECONDS = 4.0


def main() -> int:
    """Return 0 if ready; otherwise 1, with the reason on standard output."""
    port = os.environ.get("TONGYAO_METRICS_PORT", "")
    if not port.isdigit():
        print("set TONGYAO_METRICS_PORT: without it nothing answers for its health")
        return 1
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/ready", timeout=TIMEOUT_SECONDS) as answer:
            print(answer.read().decode().strip())
            return 0
    except urllib.error.HTTPError as error:
        print(error.read().decode().strip())
    except OSError as error:
        print(f"nothing answers on port {port}: {error}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
