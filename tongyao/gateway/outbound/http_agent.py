"""An agent behind plain HTTP: a GET for the profile, a POST for a conversation, an OAuth 2 bearer token.

`GET profile_url` answers text, or JSON `{"text": …}`. `POST chat_url` takes `{"messages": [{role, content}]}` and
answers `{"content": …}`, or the format of chat completions (`choices[0].message.content`).
An expired token is renewed with the refresh token (RFC 6749, 6).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated, Any, Final

import httpx
from pydantic import ConfigDict, Field

from tongyao.app.people.profile_source import ChatMessage, RenewCredentials, SourceError
from tongyao.gateway.access.body_limit import MOST_PARTS, Structure
from tongyao.gateway.outbound import http_client
from tongyao.gateway.outbound.http_client import AddressForbidden, AnswerRefused
from tongyao.protocol.model.value import Value

CHAT_SECONDS: Final = 110.0
CHAT_BYTES: Final = 4_000_000
"""Limit of an answer in a conversation. It is much longer than the words of a turn. Fifty agents may answer at once."""
PROFILE_SECONDS: Final = 30.0
EARLY_SECONDS: Final = 30.0
"""A token that expires within this time is renewed before it is used."""

Url = Annotated[str, Field(max_length=2_000, pattern=r"^https?://[^\s/?#@]+([/?][^\s#]*)?$")]


class HttpConfig(Value):
    """Address and options of an agent. `token_url`: for tokens that expire. `model`: for servers that need a name."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    profile_url: Url | None = None
    chat_url: Url
    token_url: Url | None = None
    model: str | None = Field(default=None, max_length=200)
    scope: str | None = Field(default=None, max_length=500)


class Credentials(Value):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    access_token: str = Field(default="", max_length=10_000)
    refresh_token: str = Field(default="", max_length=10_000)
    client_id: str = Field(default="", max_length=500)
    client_secret: str = Field(default="", max_length=2_000)
    expires_at: float = Field(default=0.0, description="Seconds since the epoch; 0: not known.")


class HttpProfileSource:
    """One person's agent. Raises `ValueError` for an invalid config or invalid credentials."""

    def __init__(
        self,
        config: Mapping[str, Any],
        credentials: Mapping[str, str],
        renew: RenewCredentials,
        *,
        private_allowed: bool = False,
        seconds: float = CHAT_SECONDS,
    ) -> None:
        self._config = HttpConfig.model_validate(dict(config))
        self._auth = _Bearer(self._config, Credentials.model_validate(dict(credentials)), renew)
        self._private_allowed, self._seconds = private_allowed, seconds

    async def get_profile(self) -> str:
        if self._config.profile_url is None:
            raise SourceError("no_profile", "no `profile_url` is set for this agent", permanent=True)
        seconds = min(PROFILE_SECONDS, self._seconds)
        body, kind = await self._ask("GET", self._config.profile_url, seconds, http_client.MOST_BYTES)
        return _text(body, "text") if "json" in kind else body.decode("utf-8", "replace")

    async def chat(self, messages: Sequence[ChatMessage]) -> str:
        request: dict[str, Any] = {"messages": [message.model_dump() for message in messages]}
        if self._config.model is not None:
            request["model"] = self._config.model
        body, _ = await self._ask("POST", self._config.chat_url, self._seconds, CHAT_BYTES, json=request)
        return _text(body, "content")

    async def _ask(self, method: str, url: str, seconds: float, most: int, **more: Any) -> tuple[bytes, str]:
        try:
            async with (
                asyncio.timeout(seconds),
                http_client.client(private_allowed=self._private_allowed, seconds=seconds, most_bytes=most) as client,
                client.stream(method, url, auth=self._auth, **more) as answer,
            ):
                _check(answer.status_code)
                return await answer.aread(), answer.headers.get("content-type", "")
        except AddressForbidden as error:
            raise SourceError("address_forbidden", f"{error}: give a public https:// address", permanent=True) from None
        except AnswerRefused as error:
            raise SourceError("answer_refused", str(error), permanent=True) from None
        except (TimeoutError, httpx.TimeoutException):
            raise SourceError("timed_out", f"the agent did not answer within {seconds:.0f} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SourceError("unreachable", f"the agent cannot be reached ({type(error).__name__})") from None


class _Bearer(httpx.Auth):
    """Sends the token. Renews it shortly before it expires, and when the server answers 401."""

    requires_response_body = False

    def __init__(self, config: HttpConfig, credentials: Credentials, renew: RenewCredentials) -> None:
        self._config, self._credentials, self._renew = config, credentials, renew

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        ends_soon = 0 < self._credentials.expires_at < time.time() + EARLY_SECONDS
        used = self._credentials.access_token
        over = self._renewable and (not used or ends_soon)
        for last in (False, True):
            if over:
                async with self._renew() as stored:
                    self._credentials = Credentials.model_validate(stored)
                    if self._credentials.access_token == used:  # no other task has renewed it meanwhile
                        await self._renewed((yield self._renewal()))
                        stored.update((name, str(value)) for name, value in self._credentials.model_dump().items())
            used = self._credentials.access_token
            if used:
                request.headers["Authorization"] = f"Bearer {used}"
            answer = yield request
            over = answer.status_code == 401 and self._renewable
            if last or not over:
                return

    @property
    def _renewable(self) -> bool:
        return bool(self._config.token_url and self._credentials.refresh_token)

    def _renewal(self) -> httpx.Request:
        assert self._config.token_url is not None
        form = {"grant_type": "refresh_token", "refresh_token": self._credentials.refresh_token}
        if self._config.scope:
            form["scope"] = self._config.scope
        headers = {"Accept": "application/json"}
        if self._credentials.client_secret:
            request = httpx.Request("POST", self._config.token_url, data=form, headers=headers)
            basic = httpx.BasicAuth(self._credentials.client_id, self._credentials.client_secret)
            return next(basic.auth_flow(request))
        if self._credentials.client_id:
            form["client_id"] = self._credentials.client_id
        return httpx.Request("POST", self._config.token_url, data=form, headers=headers)

    async def _renewed(self, answer: httpx.Response) -> None:
        if answer.status_code in (400, 401, 403):
            raise SourceError(
                "not_signed_in", "the platform no longer renews this token: sign in again", permanent=True
            )
        _check(answer.status_code)
        try:
            given = _parsed(await answer.aread())
            lasts = float(given.get("expires_in") or 0)
            self._credentials = Credentials.model_validate(
                {
                    **self._credentials.model_dump(),
                    "access_token": str(given["access_token"]),
                    "refresh_token": str(given.get("refresh_token") or self._credentials.refresh_token),
                    "expires_at": time.time() + lasts if lasts else 0.0,
                }
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SourceError("unreadable", "the platform's answer to a renewal contains no token") from None


def _check(status: int) -> None:
    if status in (401, 403):
        raise SourceError("not_signed_in", "the platform does not accept this token: sign in again", permanent=True)
    if not 200 <= status < 300:
        again = status >= 500 or status in (408, 425, 429)
        raise SourceError("refused", f"the platform answered {status}", permanent=not again)


def _parsed(body: bytes) -> Any:
    """Return the value of a JSON answer. Raises `ValueError`, and `SourceError` if it has too many small values."""
    structure = Structure()
    structure.read(body)
    if structure.parts > MOST_PARTS:
        raise SourceError("answer_refused", f"the answer has more than {MOST_PARTS:,} small values", permanent=True)
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _text(body: bytes, name: str) -> str:
    try:
        given = _parsed(body)
        text = given[name] if name in given else given["choices"][0]["message"]["content"]
    except (ValueError, KeyError, TypeError, IndexError):
        text = None
    if not isinstance(text, str):
        raise SourceError("unreadable", f"the agent's answer is not JSON with `{name}`")
    return text
