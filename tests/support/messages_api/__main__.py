"""`python -m tests.support.messages_api --port 8799`: runs the local Messages API until it is interrupted."""

from __future__ import annotations

import argparse
import threading

from tests.support.messages_api.server import MessagesServer

parser = argparse.ArgumentParser(description="A local Messages API with made-up answers, for trying things out.")
parser.add_argument("--port", type=int, default=8799)
parser.add_argument("--latency", type=float, default=0.5, help="seconds per answer")
parser.add_argument("--deltas", type=int, default=100, help="pieces per answer")
options = parser.parse_args()

with MessagesServer(port=options.port, latency=options.latency, deltas=options.deltas) as server:
    print(f"listening: ANTHROPIC_BASE_URL={server.base_url} ANTHROPIC_API_KEY=any", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print(f"{server.calls} requests served")
