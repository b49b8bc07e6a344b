"""The OpenID provider of the settings: authorization code flow with PKCE, and validation of the ID token.

Addresses come from the provider's discovery document. Their host must be the issuer's, or a host in the settings.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import structlog
from authlib.common.errors import AuthlibBaseError
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import (
    parse_authorization_code_response,
    prepare_grant_uri,
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from pydantic import BaseModel, SecretStr

from tongyao.app.context import OpenIDAccount, OpenIDFlow
from tongyao.app.errors import NotSignedIn, Unavailable
from tongyao.gateway.outbound.http_client import client
from tongyao.single_flight import SingleFlight

log = structlog.get_logger()

SECONDS: Final = 10.0
"""Seconds that a step of a sign-in waits for the provider."""
_MOST_BYTES: Final = 1_000_000
_LEEWAY: Final = 60
"""Tolerated difference between the provider's clock and ours, in seconds."""
_KEPT_SECONDS: Final = 300.0
_ALGORITHMS: Final = [f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)]
"""Signatures with a public key. `none` and HMAC are excluded: with HMAC, a public key could be used as the secret."""
_SHOWN: Final = ("preferred_username", "email", "name", "sub")


class _Discovery(BaseModel):
    """The used fields of the document at `/.well-known/openid-configuration`."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


@dataclass
class OpenIDConnect:
    """Implements `app.context.OpenIDProvider`. The fields are the settings `TONGYAO_OPENID_…`."""

    issuer: str
    client_id: str
    client_secret: SecretStr | None = None
    label: str = "OpenID Connect"
    scope: str = "openid"
    groups_claim: str = "groups"
    operator_group: str | None = None
    operator_hours: int = 8
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._documents = SingleFlight[_Discovery](keep=1, seconds=_KEPT_SECONDS)

    async def authorization_url(self, flow: OpenIDFlow) -> str:
        found = await self.discover()
        return str(
            prepare_grant_uri(
                found.authorization_endpoint,
                self.client_id,
                "code",
                redirect_uri=flow.redirect_uri,
                scope=self.scope,
                state=flow.state,
                nonce=flow.nonce,
                code_challenge=create_s256_code_challenge(flow.verifier),
                code_challenge_method="S256",
            )
        )

    async def account(self, flow: OpenIDFlow, answer: str) -> OpenIDAccount:
        found = await self.discover()
        try:
            returned = parse_authorization_code_response(f"?{answer}", flow.state)
            if returned.get("iss", self.issuer) != self.issuer:  # RFC 9207
                raise ValueError("the answer is of another issuer")
            token = await self._token(found, flow, returned["code"])
            keys = await self._json("GET", found.jwks_uri)
            claims = self._validated(token, keys, flow.nonce)
        except (AuthlibBaseError, JoseError, ValueError, TypeError, KeyError) as error:
            log.warning("sign-in by OpenID Connect refused", error=type(error).__name__)
            raise NotSignedIn("sign_in_refused", "the provider did not sign you in: begin again") from None
        groups = claims.get(self.groups_claim)
        held = groups if isinstance(groups, list) else [groups]
        shown = next(str(claims[name]) for name in _SHOWN if claims.get(name))
        operator = self.operator_group is not None and self.operator_group in held
        return OpenIDAccount(subject=claims["sub"], shown=shown[:200], operator=operator)

    async def discover(self) -> _Discovery:
        """Return the provider's document, cached for five minutes. Raises `Unavailable`."""
        return await self._documents.get("", self._discovered)

    async def _discovered(self) -> _Discovery:
        try:
            document = await self._json("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            found, own = _Discovery.model_validate(document), urlsplit(self.issuer)
            if found.issuer != self.issuer:
                raise _away(
                    "its discovery document names another issuer: TONGYAO_OPENID_ISSUER has to be the same text"
                )
            for address in map(urlsplit, (found.authorization_endpoint, found.token_endpoint, found.jwks_uri)):
                if address[:2] != own[:2] and (address.scheme != "https" or address.netloc not in self.hosts):
                    raise _away(
                        "it names an address of another host: TONGYAO_OPENID_HOSTS lists those that are allowed"
                    )
        except ValueError as error:
            raise _away("its discovery document cannot be read", error) from None
        return found

    async def _token(self, found: _Discovery, flow: OpenIDFlow, code: str) -> dict[str, Any]:
        methods = ("client_secret_basic", "client_secret_post")
        method = next((one for one in methods if one in found.token_endpoint_auth_methods_supported), methods[0])
        secret = self.client_secret.get_secret_value() if self.client_secret else ""
        auth = ClientAuth(self.client_id, secret, method if secret else "none")
        body = prepare_token_request(
            "authorization_code", redirect_uri=flow.redirect_uri, code=code, code_verifier=flow.verifier
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        address, headers, body = auth.prepare("POST", found.token_endpoint, headers, body)
        return await self._json("POST", address, headers=headers, content=body)

    async def _json(self, method: str, address: str, **more: Any) -> dict[str, Any]:
        """Return the JSON object of an answer. Raises `Unavailable`; `ValueError` for an error status or other JSON."""
        try:
            async with (
                asyncio.timeout(SECONDS),
                client(private_allowed=True, seconds=SECONDS, most_bytes=_MOST_BYTES) as http,
            ):
                response = await http.request(method, address, **more)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise _away("it does not answer", error) from None
        if response.status_code >= 500:
            raise _away(f"it answers {response.status_code}")
        if response.status_code != 200:
            log.warning("OpenID provider refuses a request", path=urlsplit(address).path, status=response.status_code)
            raise ValueError(f"the provider answers {response.status_code}")
        answer = response.json()
        if not isinstance(answer, dict):
            raise ValueError("the provider answers with no JSON object")
        return answer

    def _validated(self, token: dict[str, Any], keys: dict[str, Any], nonce: str) -> dict[str, Any]:
        """Return an ID token's claims. Raises `JoseError`, `ValueError`, `TypeError` or `KeyError` if it is invalid."""
        registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        signed = jwt.decode(str(token["id_token"]), KeySet.import_key_set(keys), registry=registry)  # type: ignore[arg-type]  # the library wants its own TypedDict
        claims = CodeIDToken(
            signed.claims,
            signed.header,
            {"iss": {"value": self.issuer}, "aud": {"value": self.client_id}, "sub": {"essential": True}},
            {"nonce": nonce, "client_id": self.client_id, "access_token": token.get("access_token")},
        )
        claims.validate(leeway=_LEEWAY)
        return dict(claims)


def _away(why: str, error: Exception | None = None) -> Unavailable:
    log.warning("OpenID provider cannot be used", why=why, error=type(error).__name__ if error else "")
    return Unavailable("sign_in_away", f"the OpenID provider cannot be used now: {why}")
