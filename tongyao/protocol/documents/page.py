"""A text for people as data: sections, entries, numbered notes on what each entry rests on; and the same as Markdown. Pure.

The console renders pages; `markdown` writes them for files, terminals and people's own agents.
"""

from __future__ import annotations

from typing import Literal

from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Value

NoteKind = Literal["sources", "concluded", "unsupported", "unsaid"]
"""`sources`: the words it rests on. `concluded`: its author concludes it from them. `unsupported`: nothing in the record says
it. `unsaid`: something is asked of the reader that nothing they said offers."""


class NoteLine(Value):
    """One source: whose words (`P05, round 1, item 3`), and the words; these are empty where the reader may not see them."""

    id: str
    label: str
    text: str = ""


class Note(Value):
    """What an entry rests on. `doubt`: why code doubts that the sources say it; empty when it does not."""

    number: int
    kind: NoteKind
    says: str
    lines: tuple[NoteLine, ...] = ()
    doubt: str = ""


class Entry(Value):
    """One statement. `label` before it (`Gets`), `remark` after it (`offered by P05, not agreed`), `note`: a number or 0."""

    text: str
    label: str = ""
    remark: str = ""
    note: int = 0


class Group(Value):
    """Entries under a heading of their own; `alias`: whom it is about, `ref`: the task or residual, where it is about one."""

    heading: str = ""
    alias: str = ""
    ref: str = ""
    entries: tuple[Entry, ...] = ()


class Section(Value):
    """`kind`: what it answers, the same in every language. `ordered`: its entries are steps."""

    kind: str
    heading: str
    lead: str = ""
    groups: tuple[Group, ...] = ()
    ordered: bool = False


class Page(Value):
    title: str
    language: Language = "en"
    remarks: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    notes_heading: str = ""
    notes: tuple[Note, ...] = ()


def markdown(page: Page) -> str:
    """The page as Markdown. Notes are numbered in brackets and listed at the end: views strip Markdown's own footnotes as links."""
    lines = [f"# {page.title}", ""]
    lines += [line for remark in page.remarks for line in (f"> {remark}", "")]
    for section in page.sections:
        lines += [f"## {section.heading}", ""]
        lines += [section.lead, ""] if section.lead else []
        for group in section.groups:
            lines += [f"### {group.heading}", ""] if group.heading else []
            marks = [f"{at}." if section.ordered else "-" for at in range(1, len(group.entries) + 1)]
            lines += [f"{mark} {_entry(entry)}" for mark, entry in zip(marks, group.entries, strict=True)]
            lines += [""] if group.entries else []
    if page.notes:
        lines += [f"## {page.notes_heading}", "", *(_note(note, page.language) for note in page.notes)]
    return "\n".join(lines).strip() + "\n"


def _entry(entry: Entry) -> str:
    label = f"**{entry.label}** " if entry.label else ""
    remark = f" *({entry.remark})*" if entry.remark else ""
    return f"{label}{_one_line(entry.text)}{remark}{f' [{entry.note}]' if entry.note else ''}"


def _note(note: Note, language: Language) -> str:
    colon, apart = ("：", "；") if language == "zh" else (": ", "; ")
    told = apart.join(f"{line.label}{colon}{_quoted(line.text)}" if line.text else line.label for line in note.lines)
    says = f"{note.says}{colon if told and note.says else ''}"
    return f"{note.number}. {says}{told}{f' ({note.doubt})' if note.doubt else ''}"


def _quoted(text: str) -> str:
    return f"“{_one_line(text)}”"


def _one_line(text: str) -> str:
    return " ".join(text.split())
