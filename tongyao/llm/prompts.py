"""The prompts: versioned Markdown files per step and language, which a scene may override (docs/models.md §2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from tongyao.llm.structured_output.schema import shape_of
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.steps import STEPS
from tongyao.protocol.model.value import Draft

PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
"""Beside the package `tongyao`. It is not looked up as a package: another folder `prompts` could be found first."""

OVERRIDDEN: Final = "scene"
"""The version of a scene's prompt that names none."""


@dataclass(frozen=True)
class Prompt:
    """One step's system prompt as it is sent: the step's own text, then the frame, which cannot be overridden."""

    step: str
    language: Language
    version: str
    text: str

    @property
    def sha256(self) -> str:
        """Of the text as sent, for the manifest."""
        return sha256(self.text.encode()).hexdigest()


def load(step: str, language: Language, override: str | None = None, *, folder: Path | None = None) -> Prompt:
    """The prompt of `step` in `language`, or `override` in its place.

    With `folder`, its files `<language>/<name>.md` stand in for the shipped ones of the same name.

    An override replaces what the step is told to judge by, not the frame: what is data, what ids are, the
    form of the answer. Raises `ValueError` for a step or language that does not exist, and for an override
    that is blank.
    """
    if step not in STEPS or language not in ("en", "zh"):
        raise ValueError(f"no prompt for {step!r} in {language!r}: steps are {', '.join(STEPS)}; languages en, zh")
    source = _file(language, step, folder) if override is None else override
    front, body = split_front_matter(source)
    if not body.strip():
        raise ValueError(f"the override of {step} is blank: leave it out to use the shipped prompt")
    draft: type[Draft] = STEPS[step].draft
    frame = split_front_matter(_file(language, "frame", folder))[1].replace("{{shape}}", shape_of(draft))
    version = front.get("version", OVERRIDDEN) if override is None or "version" in front else OVERRIDDEN
    return Prompt(step, language, version, f"{body.strip()}\n\n{frame.strip()}\n")


def judging(language: Language, draft: type[Draft]) -> str:
    """The prompt of the judge of a finished process, with the frame of every step."""
    body = split_front_matter(_file(language, "judge", None))[1]
    frame = split_front_matter(_file(language, "frame", None))[1].replace("{{shape}}", shape_of(draft))
    return f"{body.strip()}\n\n{frame.strip()}\n"


def reask(language: Language, *, folder: Path | None = None) -> str:
    """The text before the complaints when an answer is sent back for repair."""
    return split_front_matter(_file(language, "reask", folder))[1].strip()


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
