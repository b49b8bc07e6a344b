"""SVG elements and text wrapping for the pictures."""

from __future__ import annotations

import unicodedata
from html import escape as escape_markup
from typing import Final

from tongyao.texts.catalogue import catalogue, worded

FONT: Final = "ui-sans-serif, system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
INK: Final = "#1f2933"
PALE: Final = "#6b7785"
PAPER: Final = "#ffffff"
_NARROW: Final = 0.56
"""Width of a character that is not wide, in ems."""


def escape(words: str) -> str:
    """Escape markup in `words`, and remove characters that XML forbids or that reorder text."""
    return escape_markup(shown(words))


def shown(words: str) -> str:
    """Return `words` without controls, invisible formatting, surrogates, private-use characters and noncharacters."""
    if words.isascii() and words.isprintable():
        return words
    kept = (" " if char in "\t\n\r" else char for char in words if char in "\t\n\r\u200d" or not _is_unseen(char))
    return "".join(kept)


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co") or ord(char) & 0xFFFE == 0xFFFE


def word(language: str, key: str) -> str:
    """Return a word of the pictures (`texts/app/picture.toml`), in `zh` or else in English."""
    return worded(catalogue("app"), language, f"picture.{key}")


def document(width: float, height: float, title: str, body: list[str]) -> str:
    """Return a whole picture of `width` × `height` pixels on white. `title` is for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="{escape(FONT)}" font-size="13" fill="{INK}">'
        f"<title>{escape(title)}</title>"
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{PALE}"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>' + "".join(body) + "</svg>\n"
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", colour: str = INK, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>{escape(words)}</text>'


def line(
    start: tuple[float, float], end: tuple[float, float], *, colour: str, width: float = 2, dash: str = "",
    title: str = "",
) -> str:  # fmt: skip
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dashed}><title>{escape(title)}</title></line>'
    )


def arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Draw a curved arrow that is horizontal at both ends."""
    (x1, y1), (x2, y2) = start, end
    middle = (x1 + x2) / 2
    return (
        f'<path d="M{x1:.1f} {y1:.1f} C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="{PALE}" stroke-width="1.5" marker-end="url(#arrow)"/>'
    )


def box(x: float, y: float, width: float, height: float, *, stroke: str, dash: str = "", fill: str = PAPER) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="8" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="1.5"{dashed}/>'
    )


def circle(x: float, y: float, radius: float, *, fill: str, stroke: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'


def wrapped(words: str, room: float, lines: int) -> list[str]:
    """Wrap `words` into at most `lines` lines of `room` ems each. Longer text ends in an ellipsis."""
    rows, row = [], ""
    longest = int(room / _NARROW + 1) * (lines + 1)
    for piece in _pieces(" ".join(words.split())[:longest]):
        if row and _ems(row + piece.rstrip()) > room:
            rows.append(row.strip())
            row = ""
        row += piece.lstrip() if not row else piece
        while _ems(row) > room:
            cut = next(at for at in range(len(row), 0, -1) if _ems(row[:at]) <= room)
            rows.append(row[:cut])
            row = row[cut:]
    rows.append(row.strip())
    rows = [row for row in rows if row]
    if len(rows) > lines:
        last = rows[lines - 1]
        while _ems(last) > room - 1:
            last = last[:-1]
        rows = [*rows[: lines - 1], last.rstrip() + "…"]
    return rows


def _pieces(words: str) -> list[str]:
    """Split `words` where a line may break: after each space, and before and after each wide character."""
    pieces, piece = [], ""
    for char in words:
        if _wide(char):
            pieces += [piece, char] if piece else [char]
            piece = ""
        else:
            piece += char
            if char == " ":
                pieces.append(piece)
                piece = ""
    return [*pieces, piece] if piece else pieces


def _ems(words: str) -> float:
    return sum(1.0 if _wide(char) else _NARROW for char in words)


def _wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"
