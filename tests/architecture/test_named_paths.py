"""What the pages name exists: paths of this repository, Python files, modules that are run, and links between pages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "*/README.md", "tongyao/**/*.md", "crystalline_highway/*.md")
    for path in ROOT.glob(pattern)
)
TOP = r"tongyao|crystalline_highway|workflows|activities|prompts|tests|bench|examples|scenes|deploy|docs|requirements|\.ci|\.github"

_PATH = re.compile(rf"(?<![\w/.:-])((?:{TOP})/[\w./*<>-]+)")
_PYTHON_FILE = re.compile(r"`(\w[\w/.]*\.py)`")  # not absolute paths, which are those of another machine
_MODULE = re.compile(rf"python -m ((?:{TOP})(?:\.\w+)+)")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")

MADE_LATER = ("deploy/secrets",)
"""What `deploy/make-secrets.sh` writes on a machine."""


def _exists(path: str) -> bool:
    """`<step>` and the like stand for any one name."""
    pattern = re.sub(r"<\w+>", "*", path.rstrip("./"))
    return path.startswith(MADE_LATER) or any(True for _ in ROOT.glob(pattern))


def _is_a_python_file(name: str) -> bool:
    folders = ("tongyao", "crystalline_highway", "workflows", "activities", "tests", "bench")
    return (ROOT / name).is_file() or any(True for folder in folders for _ in (ROOT / folder).glob(f"**/{name}"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [path for path in _PATH.findall(text) if not _exists(path)]
    missing += [name for name in _PYTHON_FILE.findall(text) if not _is_a_python_file(name)]
    missing += [module for module in _MODULE.findall(text) if importlib.util.find_spec(module) is None]
    missing += [link for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []


def test_the_searches_find_what_they_are_there_for() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert len(_PATH.findall(text)) > 100
    assert len(_PYTHON_FILE.findall(text)) > 5
    assert len(_MODULE.findall(text)) > 3
    assert len(_LINK.findall(text)) > 30
