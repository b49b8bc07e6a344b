"""The prompts: versioned Markdown files per step and language, which a scene may override (docs/models.md §2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from tongyao.llm.structured_output.schema import shape_of
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.steps import STEPS
from tongyao.protocol.model.value import Draft

PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
"""The folder beside the package `tongyao`, found by path, because an import could find another package `prompts`."""

OVERRIDDEN: Final = "scene"
"""The version of a scene's prompt that states no version."""


_PART = re.compile(r"^<!-- part: (\w+) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """One step's system prompt as it is sent: the step's own text, then the frame. A scene cannot override the frame.

    Each of the `parts` is for some requests only, and is sent in these requests (`tongyao.llm.rendering`). So the
    system prompt stays the same.
    """

    step: str
    language: Language
    version: str
    text: str
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> str:
        """The text, followed by every part under its name."""
        return "\n".join((self.text, *(f"<!-- part: {name} -->\n{text}\n" for name, text in self.parts.items())))

    @property
    def sha256(self) -> str:
        """Hash of `whole`, for the manifest."""
        return sha256(self.whole.encode()).hexdigest()


def load(step: str, language: Language, override: str | None = None, *, folder: Path | None = None) -> Prompt:
    """The prompt of `step` in `language`, or `override` in its place.

    With `folder`, its files `<language>/<name>.md` replace the shipped files with the same names. An override replaces
    the step's criteria, and those `parts` that it contains itself. The frame, which explains data, ids and the form of
    the answer, stays. Raises `ValueError` for a step or language that does not exist, and for a blank override.
    """
    if step not in STEPS or language not in ("en", "zh"):
        raise ValueError(f"no prompt for {step!r} in {language!r}: steps are {', '.join(STEPS)}; languages en, zh")
    shipped = _file(language, step, folder)
    front, source = split_front_matter(shipped if override is None else override)
    body, parts = split_parts(source)
    if not body:
        raise ValueError(f"the override of {step} is blank: leave it out to use the shipped prompt")
    if override is not None:
        parts = split_parts(split_front_matter(shipped)[1])[1] | parts
    version = front.get("version", OVERRIDDEN) if override is None or "version" in front else OVERRIDDEN
    frame = _frame(language, STEPS[step].draft, folder, ids=step != "formulate")
    return Prompt(step, language, version, f"{body}\n\n{frame}\n", parts)


def _frame(language: Language, draft: type[Draft], folder: Path | None, *, ids: bool = True) -> str:
    """The frame of a step's prompt. Parts about fields that `draft` does not have are left out."""
    body, parts = split_parts(split_front_matter(_file(language, "frame", folder))[1])
    named = (*(("ids",) if ids else ()), *(("markdown",) if "markdown" in draft.model_fields else ()))
    told = (parts[name] for name in named if name in parts)
    return "\n\n".join((body.replace("{{shape}}", shape_of(draft)), *told))


def suggesting(language: Language, *, folder: Path | None = None) -> str:
    """The prompt that replaces that of `formulate` when the engine suggests intents from a profile."""
    return _file(language, "suggest", folder)


def judging(language: Language, draft: type[Draft]) -> str:
    """The prompt for judging a finished process, with the frame of the steps."""
    body = split_front_matter(_file(language, "judge", None))[1]
    return f"{body.strip()}\n\n{_frame(language, draft, None)}\n"


def reask(step: str, language: Language, *, folder: Path | None = None) -> str:
    """The text before the complaints when an answer of `step` is returned for repair."""
    body, parts = split_parts(split_front_matter(_file(language, "reask", folder))[1])
    return f"{body}\n\n{parts.get(step, '')}".strip()


def split_parts(source: str) -> tuple[str, dict[str, str]]:
    """The text before the first line `<!-- part: NAME -->`, and by name the parts after it. All are stripped."""
    body, *rest = _PART.split(source)
    return body.strip(), {name: text.strip() for name, text in zip(rest[::2], rest[1::2], strict=True)}


def split_front_matter(source: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines between two `---` lines at the top of `source`, and the text after them."""
    lines = source.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return {}, source
    end = next(number for number, line in enumerate(lines[1:], 1) if line.strip() == "---")
    pairs = (line.partition(":") for line in lines[1:end] if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}, "\n".join(lines[end + 1 :])


@cache
def _file(language: str, name: str, folder: Path | None) -> str:
    if folder is not None and (own := folder / language / f"{name}.md").is_file():
        return own.read_text("utf-8")
    return (PROMPTS / language / f"{name}.md").read_text("utf-8")
