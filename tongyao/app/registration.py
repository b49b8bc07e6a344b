"""How a profile comes in (docs/protocol.md §2.4): checked, graded, stored as a version of its owner's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tongyao.app.errors import BadInput
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS, language_of
from tongyao.protocol.rules.profile_grade import grade_profile
from tongyao.records.library import Library
from tongyao.records.people.profiles import ProfileUnknown, ProfileVersion

_ID = re.compile(r"[\w][\w.@:-]{0,119}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


Recite = Callable[[str, int], Awaitable[None]]
"""Profile and version → its recitation is on its way."""


class Registering:
    """Registers profiles; the same text again is the same version."""

    def __init__(self, library: Library, *, max_chars: int, recite: Recite | None = None) -> None:
        """`recite`: has a long profile recited in the background (docs/highway.md); None: nobody does."""
        self._library = library
        self._max_chars = max_chars
        self._recite = recite

    async def register(
        self, profile_id: str, *, scene: str, name: str, text: str, contact: dict[str, Any] | None = None
    ) -> ProfileVersion:
        """Store a profile and return its current version. Raises `BadInput`."""
        if not _ID.fullmatch(profile_id):
            raise BadInput(
                "profile_id", f"{profile_id!r} cannot be an id: letters, digits, and . @ : - _, at most 120", field="id"
            )
        clean = self.checked(text, where=profile_id)
        try:
            version = await self._library.profiles.save(
                profile_id,
                scene_id=scene,
                display_name=name.strip() or profile_id,
                text=clean,
                grade=grade_profile(clean).value,
                language=language_of(clean),
                contact=contact,
            )
        except ProfileUnknown as error:
            raise BadInput("profile_taken", str(error), field="id") from None
        if self._recite is not None and version.chars > WHOLE_PROFILE_CHARS:
            await self._recite(version.profile_id, version.version)
        return version

    def checked(self, text: str, *, where: str) -> str:
        """`text` in canonical form (NFC, no control characters). Raises `BadInput` for empty or too long ones."""
        clean = _CONTROL.sub("", unicodedata.normalize("NFC", text)).strip()
        if not clean:
            raise BadInput(
                "profile_empty", f"the profile {where} is empty: write who this is and what they do", field="text"
            )
        if len(clean) > self._max_chars:
            raise BadInput(
                "profile_too_long",
                f"the profile {where} has {len(clean):,} characters; at most {self._max_chars:,}: shorten it",
                field="text",
            )
        return clean

    def read_file(self, path: Path) -> tuple[str, str]:
        """Name (the first heading, else the file's name) and text of a profile file. Raises `BadInput`."""
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise BadInput("no_such_file", f"there is no file {path}", field=str(path)) from None
        except IsADirectoryError:
            raise BadInput("not_a_file", f"{path} is a folder: name the files in it", field=str(path)) from None
        except UnicodeDecodeError as error:
            raise BadInput(
                "not_utf8", f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8", field=str(path)
            ) from None
        checked = self.checked(text, where=str(path))
        heading = re.search(r"^#\s+(.+)$", checked, re.M)
        return (heading.group(1).strip() if heading else path.stem), checked
