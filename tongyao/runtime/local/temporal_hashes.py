"""Hashes that check a downloaded or built ``temporal`` program, of version 1.5.1 of the Temporal CLI.

A download is checked by the SHA-256 of its archive. A build is checked by the hash of the main module, and by the file
``go.sum`` of that module, which contains the hash of every module of the program. So a build depends neither on Go's
checksum database nor on settings such as ``GONOSUMDB``.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VERSION: Final = "1.5.1"
ARCHIVE_URL: Final = (
    "https://github.com/temporalio/cli/releases/download/v{version}/temporal_cli_{version}_{platform}.tar.gz"
)
ARCHIVES: Final[Mapping[str, str]] = {
    "linux_amd64": "ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d",
    "linux_arm64": "bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5",
    "darwin_amd64": "bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9",
    "darwin_arm64": "cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415",
}
"""SHA-256 of the release's archive by platform. Three public package lists that check it have the same hashes."""

MODULE: Final = "github.com/temporalio/cli"
MODULE_SUM: Final = "h1:0RZMk14BWxz44Xg6ciDQvpfAMffoG3J7/K03ql80teY="
"""Go's hash of the main module, as in Go's checksum database."""


def archive() -> tuple[str, str] | None:
    """Return (address, SHA-256) of the archive for this machine, or None if no hash is known for it."""
    machine = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower()
    )
    name = f"{sys.platform}_{machine}"
    if name not in ARCHIVES:
        return None
    return ARCHIVE_URL.format(version=VERSION, platform=name), ARCHIVES[name]


def problem_with_build(go: str, environment: Mapping[str, str], built: Path) -> str | None:
    """Return the fault of a program that this ``go`` has just built, or None if all its hashes are right.

    ``environment``: that of the build, so that the same module cache is read.
    """
    try:
        found = json.loads(_printed(go, environment, "mod", "download", "-json", f"{MODULE}@v{VERSION}"))
        sums = (Path(found["Dir"]) / "go.sum").read_text(encoding="utf-8")
        lines = _printed(go, environment, "version", "-m", str(built)).splitlines()
    except (subprocess.CalledProcessError, OSError, ValueError, KeyError) as error:
        return f"what it is made of cannot be read ({type(error).__name__})"
    if found.get("Sum") != MODULE_SUM:
        return f"the module has the hash {found.get('Sum')}, not {MODULE_SUM}"
    known = {tuple(line.split()) for line in sums.splitlines()} | {(MODULE, f"v{VERSION}", MODULE_SUM)}
    parts = [tuple(line.split()[1:]) for line in lines if line.split()[:1] in (["mod"], ["dep"], ["=>"])]
    if (MODULE, f"v{VERSION}", MODULE_SUM) not in parts:
        return "it was not built from the module that was asked for"
    unknown = [" ".join(part[:2]) for part in parts if part not in known]
    return f"go.sum of the module does not hold: {', '.join(unknown[:3])}" if unknown else None


def _printed(go: str, environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [go, *arguments], env=dict(environment), cwd="/", capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout
