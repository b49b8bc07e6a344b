"""HTML as a tree: elements found by selectors and texts, as in a browser without styles and scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Final, Self

_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta", "path"})
_INLINE: Final = frozenset({"a", "b", "cite", "code", "em", "i", "mark", "q", "small", "strong", "sup", "time"})
_SILENT: Final = frozenset({"script", "style", "template", "textarea"})
"""Elements whose content is no text of the page."""
_PART: Final = re.compile(r"""\[([\w-]+)(?:([\^$*]?)=['"]?([^'"\]]*)['"]?)?\]|([#.]?)([\w-]+)""")
_MATCHES: Final[dict[str, Callable[[str, str], bool]]] = {
    "": str.__eq__,
    "^": str.startswith,
    "$": str.endswith,
    "*": str.__contains__,
}


class Element:
    """An element with its attributes and its children, which are elements and texts."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None = None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    def __repr__(self) -> str:
        given = "".join(f' {name}="{value}"' for name, value in self.attributes.items())
        return f"<{self.tag}{given}> {self.text[:80]}"

    @property
    def text(self) -> str:
        """The visible text of the element, with single spaces between words."""
        return " ".join("".join(self._texts()).split())

    @property
    def content(self) -> str:
        """The text of the element as it is in the source, with line breaks."""
        return "".join(one if isinstance(one, str) else one.content for one in self.children)

    def _texts(self) -> Iterator[str]:
        for one in self.children:
            if isinstance(one, str):
                yield one
            elif one.tag not in _SILENT:
                gap = "" if one.tag in _INLINE else " "
                yield gap
                yield from one._texts()
                yield gap

    def elements(self) -> Iterator[Element]:
        """All descendants, in the order of the document."""
        for one in self.children:
            if isinstance(one, Element):
                yield one
                yield from one.elements()

    def above(self) -> Iterator[Element]:
        """All ancestors, the nearest first."""
        if self.parent is not None:
            yield self.parent
            yield from self.parent.above()

    def all(self, selector: str, text: str = "") -> list[Element]:
        """The descendants that match, in order. `selector`: `main > h1, #id .class [name=value]`. `text`: a part of their text."""
        ways = [way.replace(">", " > ").split() for way in selector.split(",")]
        return [one for one in self.elements() if any(_found(one, way) for way in ways) and text in one.text]

    def one(self, selector: str, text: str = "") -> Element:
        """The only descendant that matches. Raises `AssertionError` for none or several."""
        found = self.all(selector, text)
        assert len(found) == 1, (selector, text, found or self.text)
        return found[0]

    def within(self, selector: str) -> Element:
        """The nearest ancestor that matches."""
        return next(one for one in self.above() if _matches(one, selector))

    @property
    def value(self) -> str:
        """The value that a form sends for this field."""
        if self.tag == "textarea":
            return self.content.removeprefix("\n")
        if self.tag == "select":
            options = self.all("option")
            chosen = [one for one in options if "selected" in one.attributes] or options[:1]
            return chosen[0].value
        if self.tag == "option":
            return self.attributes.get("value", self.text)
        return self.attributes.get("value", "on" if self.attributes.get("type") in ("checkbox", "radio") else "")


def _found(element: Element, way: list[str]) -> bool:
    """Whether the element matches the last selector of `way`, and its ancestors match the earlier ones (`>`: the parent)."""
    *before, last = way
    if not _matches(element, last):
        return False
    if not before:
        return True
    if before[-1] == ">":
        return element.parent is not None and _found(element.parent, before[:-1])
    return any(_found(one, before) for one in element.above())


def _matches(element: Element, selector: str) -> bool:
    """Whether the element has the name, the id, the classes and the attributes of a selector like `a.inline[href^=#]`."""
    attributes = element.attributes
    for name, how, value, kind, word in _PART.findall(selector):
        if name and (name not in attributes or ("=" in selector and not _MATCHES[how](attributes[name], value))):
            return False
        if kind == "#" and attributes.get("id") != word:
            return False
        if kind == "." and word not in attributes.get("class", "").split():
            return False
        if word and not kind and element.tag != word:
            return False
    return True


class _Reader(HTMLParser):
    """Builds the tree. An element that is never closed, or closed in the wrong place, is an error."""

    def __init__(self, root: Element) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs}, self.open[-1])
        self.open[-1].children.append(made)
        if tag not in _VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open[-1].tag == tag, f"</{tag}> closes {self.open[-1]}"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


class Document(Element):
    """A page. Reading it raises `AssertionError` if an element is not closed, or closed in the wrong place."""

    def __init__(self) -> None:
        super().__init__("document", {})

    @classmethod
    def read(cls, html: str) -> Self:
        document = cls()
        reader = _Reader(document)
        reader.feed(html)
        reader.close()
        assert reader.open == [document], reader.open
        return document

    @property
    def main(self) -> Element:
        return self.one("main")

    @property
    def h1(self) -> str:
        return self.one("h1").text

    @property
    def status(self) -> list[str]:
        """The texts of its status messages."""
        return [one.text for one in self.all("[role=status]")]

    @property
    def alert(self) -> str:
        """The text of its only error message."""
        return self.one("[role=alert]").text
