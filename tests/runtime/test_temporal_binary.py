"""The ladder to a Temporal server: each rung is tried in its order, and a failure names all that were."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tongyao.runtime.local.processes import LocalServiceError
from tongyao.runtime.local.temporal_binary import MODULE, built_path, ensure_binary

GO = """#!/bin/sh
case "$1" in
  version) echo "go version go1.26.8 linux/amd64" ;;
  install) echo "$@" >> "{log}"; {install} ;;
esac
"""
BUILDS = 'mkdir -p "$GOBIN"; printf "#!/bin/sh\\necho built\\n" > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"'
FAILS = 'echo "dial tcp: no route to host" >&2; exit 1'


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


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
    write_program(programs / "go", GO.format(log=log, install=BUILDS))
    with ThreadPoolExecutor(3) as pool:
        found = set(pool.map(lambda _: ensure_binary(home), range(3)))
    assert found == {built_path()}
    assert log.read_text() == f"install -v {MODULE}\n"


def test_when_no_rung_holds_each_is_named_with_its_reason(home: Path, programs: Path) -> None:
    write_program(programs / "go", GO.format(log=home / "go.log", install=FAILS))
    with pytest.raises(LocalServiceError) as caught:
        ensure_binary(home)
    said = str(caught.value)
    assert "no temporal on PATH" in said
    assert "the SDK's download" in said
    assert f"go install {MODULE}: dial tcp: no route to host" in said
    assert "TEMPORAL_ADDRESS" in said
    assert [path.name for path in built_path().parent.iterdir()] == ["lock"]  # nothing half-built is left
