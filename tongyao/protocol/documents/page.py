"""A text for people as data: sections, entries, and numbered notes on the sources of each entry. Pure.

The console renders pages. `markdown` converts them to Markdown for files, terminals and people's own agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Value

NoteKind = Literal["sources", "concluded", "unsupported", "unsaid"]
"""`sources`: the entry rests on the cited words. `concluded`: the author concludes the entry from the cited words.
`unsupported`: the entry has no source. `unsaid`: the entry requests something that the reader's words do not offer."""


class NoteLine(Value):
    """One source: its place (`P05, round 1, item 3`) and its text. The text is empty if the reader may not see it."""

    id: str
    label: str
    text: str = ""


class Footnote(Value):
    """Sources of an entry. `doubt`: why code doubts that the sources support the entry; empty if there is no doubt."""

    number: int
    kind: NoteKind
    says: str
    lines: tuple[NoteLine, ...] = ()
    doubt: str = ""


class PageEntry(Value):
    """One statement. `label`: the words before it (`Gets`). `remark`: the words after it (`offered by P05, not
    agreed`). `note`: the number of its footnote; 0 if it has none."""

    text: str
    label: str = ""
    remark: str = ""
    note: int = 0


class Group(Value):
    """Entries under one heading. `alias`: the person of the group. `ref`: the residual of the group."""

    heading: str = ""
    alias: str = ""
    ref: str = ""
    entries: tuple[PageEntry, ...] = ()


class PageSection(Value):
    """A section. `kind`: its topic, independent of the language."""

    kind: str
    heading: str
    lead: str = ""
    groups: tuple[Group, ...] = ()


class Page(Value):
    """A page. `lead`: the first line. `sections`: the body. `notes` and `appendix`: the end, under `notes_heading`."""

    title: str
    language: Language = "en"
    lead: PageEntry | None = None
    remarks: tuple[str, ...] = ()
    sections: tuple[PageSection, ...] = ()
    notes_heading: str = ""
    notes: tuple[Footnote, ...] = ()
    appendix: tuple[PageSection, ...] = ()


def markdown(page: Page) -> str:
    """Return the page as Markdown. Entries name numbers of sources in brackets, and the sources are listed at the end.

    Markdown's own footnotes are not used: some viewers drop them, and terminals do not show them.
    """
    sources = {line.id: line for note in page.notes for line in note.lines}
    numbers = {id: number for number, id in enumerate(sources, 1)}
    marks = {note.number: _mark(note, numbers, page.language) for note in page.notes}
    lines = [f"# {page.title}", ""]
    lines += [_entry(page.lead, marks, page.language), ""] if page.lead is not None else []
    lines += [line for remark in page.remarks for line in (f"> {remark}", "")]
    lines += _sections(page.sections, marks, page.language, level="##")
    if sources or page.appendix:
        lines += [f"## {page.notes_heading}", ""]
        lines += [*(f"{numbers[id]}. {_source(line, page.language)}" for id, line in sources.items()), ""]
        lines += _sections(page.appendix, marks, page.language, level="###")
    return "\n".join(lines).strip() + "\n"


def _sections(
    sections: Iterable[PageSection], marks: Mapping[int, str], language: Language, *, level: str
) -> list[str]:
    lines: list[str] = []
    for section in sections:
        lines += [f"{level} {section.heading}", ""]
        lines += [section.lead, ""] if section.lead else []
        for group in section.groups:
            lines += [f"{level}# {group.heading}", ""] if group.heading else []
            lines += [f"- {_entry(entry, marks, language)}" for entry in group.entries]
            lines += [""] if group.entries else []
    return lines


def _entry(entry: PageEntry, marks: Mapping[int, str], language: Language) -> str:
    label = f"**{entry.label}** " if entry.label else ""
    remark = (f" *（{entry.remark}）*" if language == "zh" else f" *({entry.remark})*") if entry.remark else ""
    return f"{label}{_one_line(entry.text)}{remark}{marks.get(entry.note, '')}"


def _mark(note: Footnote, numbers: Mapping[str, int], language: Language) -> str:
    """Return the mark of a note, such as ` [2, 5]` or ` [the plan concludes this itself, from 2, 5–8]`."""
    named = ", ".join(_ranges([numbers[line.id] for line in note.lines]))
    apart, colon = ("；", "：") if language == "zh" else ("; ", " ")
    says = colon.join(part for part in (note.says, named) if part)
    return f" [{apart.join(part for part in (says, note.doubt) if part)}]"


def _ranges(numbers: Iterable[int]) -> list[str]:
    """Return the sorted numbers. Three or more consecutive numbers become a range."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [
        part for run in runs for part in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(number) for number in run])
    ]


def _source(line: NoteLine, language: Language) -> str:
    colon = "：" if language == "zh" else ": "
    return f"{line.label}{colon}“{_one_line(line.text)}”" if line.text else line.label


def _one_line(text: str) -> str:
    return " ".join(text.split())
