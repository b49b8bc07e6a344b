"""A head or a form that takes quadratic time to read is not read."""

from __future__ import annotations

from http import cookies

import pytest
from pydantic import ValidationError

from tests.gateway.conftest import GatewayHarness
from tests.security.conftest import whole
from tongyao.app.notifications.channels import MailBody
from tongyao.app.people.sessions import open_session
from tongyao.gateway.access.authentication import SESSION

__all__ = ["whole"]
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_no_cookie_with_escapes_is_parsed(
    whole: GatewayHarness, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Half a minute of the event loop for 60 KB, with a Python before 3.11.10 or 3.12.6."""
    parsed: list[str] = []
    unquote = cookies._unquote

    def noted(value: str) -> str:
        parsed.append(value)
        return unquote(value)

    monkeypatch.setattr(cookies, "_unquote", noted)
    hostile = 's="' + '\\"' * 100 + '"'
    for cookie in (hostile, f"tongyao_{hostile}", f'tongyao_session="{hostile}; tongyao_language=zh', f"a=b;{hostile}"):
        answer = await whole.ask(method, "/console/enter", headers={"Cookie": cookie})
        assert answer.status_code == (200 if method == "GET" else 403)
    assert not [one for one in parsed if "\\" in one]


async def test_the_consoles_own_cookies_are_read_beside_those_of_others(whole: GatewayHarness) -> None:
    person = await whole.join(await whole.scene())
    session = await open_session(whole.context, person["token"], place="http://127.0.0.1:8700")
    cookie = f'other="a\\"b"; {SESSION}={session.secret}; tongyao_language=zh; tongyao_zone=Etc/GMT+1; a=b'
    page = await whole.ask("GET", "/console/me", headers={"Cookie": cookie})
    assert page.status_code == 200
    assert 'lang="zh' in page.text


@pytest.mark.parametrize("name", ["No/Such", "Etc/Unknown", "America", "../etc", "%2e", "x" * 500])
async def test_a_time_zone_that_is_not_known_here_is_no_error(whole: GatewayHarness, name: str) -> None:
    """A browser may know newer zones than this machine: no page of the console opened in it."""
    page = await whole.ask("GET", "/console/enter", headers={"Cookie": f"tongyao_zone={name}"})
    assert page.status_code == 200


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data; boundary=b; charset=punycode",
        "multipart/form-data; boundary=b",
        f"{FORM}; charset=idna",
        f"{FORM};" + ";" * 1_000,
        'multipart/form-data; a="' + ";" * 1_000,
    ],
)
async def test_a_form_is_taken_in_one_type_only(whole: GatewayHarness, kind: str) -> None:
    """A multipart form names the codec of its fields. Python's decoder of punycode takes quadratic time: four seconds for 185 KB."""
    field = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\ny-aaaa\r\n--b--'
    for path in ("/console/enter", "/console/join"):
        answer = await whole.ask("POST", path, content=field, headers={"Content-Type": kind})
        assert answer.status_code == 415
    taken = await whole.ask("POST", "/console/enter", content=b"a=b", headers={"Content-Type": f"{FORM};charset=UTF-8"})
    assert taken.status_code == 403, "it is read, and has no token of a form"


async def test_a_form_of_many_fields_is_not_parsed(whole: GatewayHarness) -> None:
    for content in (b"&" * 1_000, b"a=b&" * 1_000, b"a=b;" * 1_000):
        answer = await whole.ask("POST", "/console/enter", content=content, headers={"Content-Type": FORM})
        assert answer.status_code == 413


async def test_only_an_operator_has_many_payloads_checked(whole: GatewayHarness) -> None:
    person = await whole.join(await whole.scene())
    operator = await whole.operator()
    content = b'{"payloads": [%s]}' % b",".join([b"1"] * 9_000)
    for path in ("/codec/decode", "/console/codec/decode"):
        for token in (None, person["token"]):
            headers = {"Content-Type": "application/json"}
            refused = await whole.ask("POST", path, token, content=content, headers=headers)
            assert refused.status_code == 413
    wrong = await whole.ask(
        "POST", "/codec/decode", operator, content=content, headers={"Content-Type": "application/json"}
    )
    assert wrong.status_code == 422
    assert len(wrong.json()["errors"]) == 20


@pytest.mark.parametrize(
    "address",
    [
        "root,me@example.org",
        "<me>,a@example.org",
        '"""@"""',
        "group:me;@example.org",
        "(me@example.org",
        "=?utf-8?q?root=40example=2Enet=2Cx?=@example.org",
        "=?utf-8?q?x=0D=0A?=@example.org",
    ],
)
def test_a_mail_address_is_one_address(address: str) -> None:
    """Libraries read several from one header, also such without a domain, or raise errors of their own."""
    with pytest.raises(ValidationError):
        MailBody(address=address)
    assert MailBody(address="o'brien+news@example.org").address
