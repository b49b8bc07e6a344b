"""The ladder to a Temporal server: each rung is tried in its order, and a failure names all that were."""

from __future__ import annotations

import hashlib
import http.server
import io
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local import temporal_hashes
from tongyao.runtime.local.temporal_binary import MODULE, built_path, ensure_binary

GO = """#!/bin/sh
case "$1 $2" in
  "version -m") cat "{made_of}" ;;
  "mod download") echo '{{"Dir": "{module}", "Sum": "{sum}"}}' ;;
  version*) echo "go version go1.26.8 linux/amd64" ;;
  install*) echo "$@" >> "{log}"; {install} ;;
esac
"""
BUILDS = 'mkdir -p "$GOBIN"; printf "#!/bin/sh\\necho built\\n" > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"'
FAILS = 'echo "dial tcp: no route to host" >&2; exit 1'


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def go(
    home: Path,
    *,
    install: str,
    module_sum: str = temporal_hashes.MODULE_SUM,
    part: str = "h1:part=",
    said: str = "h1:part=",
) -> str:
    """A ``go`` that builds a program of one other module. `part`: that module's hash; `said`: what go.sum says."""
    (home / "module").mkdir(parents=True, exist_ok=True)
    (home / "module" / "go.sum").write_text(f"example.com/part v1.0.0 {said}\nexample.com/part v1.0.0/go.mod h1:x=\n")
    made_of = write_program(
        home / "made-of",
        f"temporal: go1.26.8\n\tpath\t{temporal_hashes.MODULE}/cmd/temporal\n"
        f"\tmod\t{temporal_hashes.MODULE}\tv{temporal_hashes.VERSION}\t{module_sum}\n"
        f"\tdep\texample.com/part\tv1.0.0\t{part}\n",
    )
    return GO.format(log=home / "go.log", install=install, module=home / "module", made_of=made_of, sum=module_sum)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH without ``temporal`` and ``go``, an empty cache, and no way to the internet."""
    directory = tmp_path / "programs"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("HTTPS_PROXY", "https_proxy", "UV_INDEX_URL", "PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    return directory


def test_a_named_program_comes_before_all(home: Path, programs: Path) -> None:
    write_program(programs / "temporal", "#!/bin/sh\n")
    named = write_program(home / "mine", "#!/bin/sh\n")
    assert ensure_binary(home, named) == named


def test_a_named_program_that_is_not_there_is_not_silently_replaced(home: Path, programs: Path) -> None:
    write_program(programs / "temporal", "#!/bin/sh\n")
    with pytest.raises(LocalServiceError, match="nowhere is not an executable file"):
        ensure_binary(home, home / "nowhere")


def test_then_the_path_then_what_is_in_the_home_then_the_cache(home: Path, programs: Path) -> None:
    cached = write_program(built_path(), "#!/bin/sh\n")
    assert ensure_binary(home) == cached
    own = write_program(home / "bin" / "temporal", "#!/bin/sh\n")
    assert ensure_binary(home) == own
    on_path = write_program(programs / "temporal", "#!/bin/sh\n")
    assert ensure_binary(home) == on_path


def test_a_go_on_the_path_builds_the_pinned_version_once_for_all_who_ask(home: Path, programs: Path) -> None:
    log = home / "go.log"
    write_program(programs / "go", go(home, install=BUILDS))
    with ThreadPoolExecutor(3) as pool:
        found = set(pool.map(lambda _: ensure_binary(home), range(3)))
    assert found == {built_path()}
    assert log.read_text() == f"install -v {MODULE}\n"


def test_when_no_rung_holds_each_is_named_with_its_reason(home: Path, programs: Path) -> None:
    write_program(programs / "go", go(home, install=FAILS))
    with pytest.raises(LocalServiceError) as caught:
        ensure_binary(home)
    said = str(caught.value)
    assert "no temporal on PATH" in said
    assert "a download" in said
    assert f"go install {MODULE}: dial tcp: no route to host" in said
    assert "TEMPORAL_ADDRESS" in said
    assert [path.name for path in built_path().parent.iterdir()] == ["lock"]  # nothing half-built is left


@pytest.mark.parametrize(
    ("wrong", "why"),
    [({"module_sum": "h1:another="}, "the module has the hash h1:another="),
     ({"part": "h1:another="}, "go.sum of the module does not hold: example.com/part v1.0.0"),
     ({"said": "h1:another="}, "go.sum of the module does not hold: example.com/part v1.0.0")],
)  # fmt: skip
def test_what_was_built_from_something_else_is_not_used(
    home: Path, programs: Path, wrong: dict[str, str], why: str
) -> None:
    write_program(programs / "go", go(home, install=BUILDS, **wrong))
    with pytest.raises(LocalServiceError) as caught:
        ensure_binary(home)
    assert why in str(caught.value)
    assert not built_path().exists()


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bytes]:
    """A release's archive at the address where it is looked for; returns what it holds."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        program = b"#!/bin/sh\necho downloaded\n"
        entry = tarfile.TarInfo("temporal")
        entry.size = len(program)
        tar.addfile(entry, io.BytesIO(program))
    content = packed.getvalue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(temporal_hashes, "ARCHIVE_URL", f"http://127.0.0.1:{server.server_port}/{{platform}}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield content
        server.shutdown()


def test_an_archive_with_the_known_hash_is_unpacked(
    home: Path, programs: Path, archive: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(archive).hexdigest()
    monkeypatch.setattr(temporal_hashes, "ARCHIVES", dict.fromkeys(temporal_hashes.ARCHIVES, digest))
    found = ensure_binary(home)
    assert found == built_path()
    assert subprocess.run([found], capture_output=True, text=True).stdout == "downloaded\n"


def test_an_archive_with_another_hash_is_not_used(home: Path, programs: Path, archive: bytes) -> None:
    with pytest.raises(LocalServiceError, match=r"has the SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}: it is not used"):
        ensure_binary(home)
    assert [path.name for path in built_path().parent.iterdir()] == ["lock"]
