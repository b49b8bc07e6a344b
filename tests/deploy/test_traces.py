"""A message is followed from the request to the record, in one trace whose id is the message's."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.traced import LINK, SAID
from tongyao.protocol.contracts.process import OBSERVE
from tongyao.runtime.local.temporal import LocalTemporal

REPOSITORY = Path(__file__).parents[2]


class Collector:
    """Receives OTLP over HTTP on a port of its own."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.bodies: list[bytes] = []
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/traces"
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                received.bodies.append(body)
                request = ExportTraceServiceRequest.FromString(body)
                received.spans += [
                    span for of in request.resource_spans for scope in of.scope_spans for span in scope.spans
                ]
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def attributes(span: Span) -> dict[str, str]:
    return {one.key: one.value.string_value for one in span.attributes}


@pytest.mark.timeout(300)
async def test_a_message_is_found_in_every_hop(
    collector: Collector, temporal_server: LocalTemporal, fresh_database_url: str
) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.traced", temporal_server.address, fresh_database_url, collector.url,
        cwd=REPOSITORY, env=dict(os.environ), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(program.communicate(), 280)
    assert program.returncode == 0
    made = json.loads(out.decode().splitlines()[-1])
    message, process = made["message"], made["process"]

    trace = UUID(message).bytes
    names = {span.name for span in collector.spans if span.trace_id == trace}
    expected = {
        "message submit_projection",
        "update submit_projection",
        f"step {OBSERVE.name}",
        "model observe",
        "record",
    }
    assert expected <= names, names
    by_name = {span.name: span for span in collector.spans if span.trace_id == trace}
    assert by_name["model observe"].parent_span_id == by_name[f"step {OBSERVE.name}"].span_id
    assert attributes(by_name[f"step {OBSERVE.name}"])["tongyao.process"] == process
    assert attributes(by_name["update submit_projection"])["tongyao.update"] == message

    [request] = [span for span in collector.spans if span.name == "POST /processes/{process_id}/messages"]
    asking = [span for span in collector.spans if span.trace_id == request.trace_id and span.links]
    assert [(attributes(one)["tongyao.message"], one.links[0].trace_id) for one in asking] == [(message, trace)]
    for canary in (SAID, LINK):
        assert not [body for body in collector.bodies if canary.encode() in body], "spans hold ids and closed words"
