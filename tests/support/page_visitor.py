"""A visitor of the console without a browser: signs in, reads pages, follows links and sends the forms of a page."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlencode

import httpx

from tests.support.html import Document, Element
from tests.support.until import until
from tongyao import protocol

BASE: Final = "/console"
FIELDS: Final = "input, select, textarea"
Filled = str | bool | Sequence[str]
"""The value of a field. For a box: whether it is ticked. For boxes with one name: the values of the ticked ones."""


def _values() -> frozenset[str]:
    """The values of all enumerations of the protocol, as programs write them."""
    for module in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
        importlib.import_module(module.name)
    kinds = [kind for kind in StrEnum.__subclasses__() if kind.__module__.startswith(protocol.__name__)]
    return frozenset(member.value for kind in kinds for member in kind)


VALUES: Final = _values()


class Page(Document):
    """A page that was answered. `place`: its path and query below the console's base."""

    code: int = 0
    place: str = ""

    def has_link(self, text: str) -> bool:
        return bool(self.main.all("a[href]", text))

    def button(self, text: str, within: str = "body") -> Element:
        return the_one(text, [one for section in self.all(within) for one in section.all("button")])

    def has_button(self, text: str, within: str = "body") -> bool:
        return any(text in one.text for section in self.all(within) for one in section.all("button"))

    def field(self, name: str, within: Element | None = None) -> Element:
        """A field, by its label or by its selector (`#words`, `[name=scene]`)."""
        scope = within or self.main
        if name[0] in "#[":
            return scope.one(name)
        label = the_one(name, scope.all("label"))
        return scope.one(f"#{label.attributes['for']}") if "for" in label.attributes else label.one(FIELDS)


def the_one(text: str, elements: Sequence[Element]) -> Element:
    """The only element with exactly this text, or else the only one that contains it. Raises `AssertionError` for none or several."""
    found = [one for one in elements if one.text == text] or [one for one in elements if text in one.text]
    assert len(found) == 1, (text, [one.text for one in found or elements])
    return found[0]


def is_sound(page: Page) -> None:
    """Check rules for every page: one heading, unique ids, a label for each field, a text for each link and button, no
    reference to a missing id, and no value of an enumeration in the text."""
    ids = [one.attributes["id"] for one in page.elements() if "id" in one.attributes]
    assert len(ids) == len(set(ids)), [one for one in ids if ids.count(one) > 1]
    assert len(page.all("h1")) == 1, page.all("h1")
    assert page.one("html").attributes["lang"] in ("en", "zh-CN")
    labels = {one.attributes.get("for") for one in page.all("label")}
    for element in page.elements():
        at = element.attributes
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert set(at.get(name, "").split()) <= set(ids), element
        if element.tag in ("a", "button", "h1", "h2", "h3", "label", "summary", "option"):
            assert element.text or "aria-label" in at, element
        if element.tag in ("input", "select", "textarea") and at.get("type") != "hidden":
            named = at.get("id") in labels or "aria-label" in at or any(one.tag == "label" for one in element.above())
            assert named, element
    if page.all("main"):
        shown = set(re.findall(r"[a-z]+(?:_[a-z]+)+", page.main.text))
        assert not shown & VALUES, shown & VALUES


class PageVisitor:
    """A client without styles and scripts. `page`: the page that was read last. Paths are relative to the console's base."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http, self.page = http, Page()

    async def sign_in(self, secret: str) -> httpx.Response:
        """Open a session with this token. Returns the redirection to the inbox, which is not followed."""
        await self.get("/enter")
        form = self.page.one("#secret").within("form")
        fields = {**dict(sent(form)), "secret": secret}
        answer = await self.http.post(f"{BASE}/enter", data=fields, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        return answer

    async def get(self, path: str, *, code: int = 200) -> Page:
        """Read a page. `code`: of the answer."""
        return self._read(await self.http.get(BASE + path), code)

    async def again(self) -> Page:
        """Load the page anew."""
        return await self.get(self.page.place)

    async def until(self, text: str, selector: str = "main") -> Page:
        """Load the page anew until it shows this text there."""

        async def shown() -> bool:
            return bool(self.page.all(selector, text)) or bool((await self.again()).all(selector, text))

        await until(shown, f"{text!r} in {selector}")
        return self.page

    async def follow(self, text: str, within: str = "body") -> Page:
        """Follow the one link with this text."""
        link = the_one(text, [one for section in self.page.all(within) for one in section.all("a[href]")])
        return self._read(await self.http.get(self._address(link.attributes["href"])), 200)

    async def submit(
        self,
        button: str | Element,
        filled: Mapping[str, Filled] | None = None,
        *,
        within: str = "body",
        code: int = 200,
    ) -> Page:
        """Fill in fields of the button's form, press the button, and read the page of the answer.

        `button`: the button, its text, or its selector in brackets. `filled`: by label or selector of a field. `code`: of the answer.
        """
        if isinstance(button, str):
            button = self.page.one(f"button{button}") if button[0] == "[" else self.page.button(button, within)
        form = button.within("form")
        fields = written(self.page, form, filled or {})
        if "name" in button.attributes:
            fields.append((button.attributes["name"], button.value))
        address = self._address(button.attributes.get("formaction", form.attributes.get("action", "")))
        body = urlencode([(name, re.sub(r"\r?\n", "\r\n", value)) for name, value in fields])
        if form.attributes.get("method") != "post":
            return self._read(await self.http.get(f"{address}?{body}"), code)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": _origin(self.http.base_url)}
        return self._read(await self.http.post(address, content=body, headers=headers), code)

    def _address(self, reference: str) -> str:
        return str(self.http.base_url.join(BASE + self.page.place).join(reference))

    def _read(self, answer: httpx.Response, code: int) -> Page:
        assert answer.status_code == code, (answer.status_code, str(answer.url), answer.text[:2_000])
        page = Page.read(answer.text)
        page.code, page.place = answer.status_code, answer.url.raw_path.decode().removeprefix(BASE)
        is_sound(page)
        self.page = page
        return page


def sent(form: Element) -> list[tuple[str, str]]:
    """The fields that a form sends without changes, without its buttons."""
    fields = []
    for one in form.all(FIELDS):
        at = one.attributes
        off = at.get("type") in ("checkbox", "radio") and "checked" not in at
        if at.get("name") and "disabled" not in at and not off:
            fields.append((at["name"], one.value))
    return fields


def written(page: Page, form: Element, filled: Mapping[str, Filled]) -> list[tuple[str, str]]:
    """The fields that a form sends after fields were filled in. Raises `AssertionError` for input that a browser would refuse."""
    for name, value in filled.items():
        if not isinstance(value, str | bool):
            boxes = form.all(name)
            assert set(value) <= {one.value for one in boxes}, (name, value, boxes)
            for one in boxes:
                _tick(one, one.value in value)
            continue
        one = page.field(name, form)
        assert "disabled" not in one.attributes, one
        if isinstance(value, bool):
            _tick(one, value)
        elif one.tag == "select":
            options = one.all("option")
            [chosen] = [option for option in options if value in (option.attributes.get("value"), option.text)]
            for option in options:
                _set(option, "selected", option is chosen)
        else:
            assert len(value) <= int(one.attributes.get("maxlength", 10**9)), one
            if one.tag == "textarea":
                one.children = ["\n" + value]
            else:
                one.attributes["value"] = value
    lacking = [one for one in form.all(FIELDS) if "required" in one.attributes and not one.value]
    assert not lacking, lacking
    return sent(form)


def _tick(box: Element, on: bool) -> None:
    assert box.attributes.get("type") in ("checkbox", "radio"), box
    _set(box, "checked", on)


def _set(element: Element, name: str, on: bool) -> None:
    element.attributes.pop(name, None)
    if on:
        element.attributes[name] = ""


def _origin(url: httpx.URL) -> str:
    return str(url.copy_with(path="/")).rstrip("/")


@asynccontextmanager
async def visiting(app: Any, secret: str = "", *, language: str = "en") -> AsyncIterator[PageVisitor]:
    """Yield a visitor of this application's console, signed in with this token."""
    headers = {"Accept-Language": "zh-CN,zh" if language == "zh" else "en-GB,en"}
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8700", headers=headers, follow_redirects=True, timeout=60
    ) as http:
        visitor = PageVisitor(http)
        if secret:
            await visitor.sign_in(secret)
        yield visitor
