"""An OpenID provider on loopback, made of authlib's server classes. It checks clients, codes, redirects and PKCE.

A test chooses the person who signs in. It may change the claims of the ID token, the whole token, and the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from authlib.oauth2.rfc6749 import AuthorizationServer, ClientMixin, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.serving import served

CLIENT: Final = "tongyao-here"
SECRET: Final = "the-secret-of-the-client"
_HEADER: Final = {"alg": "RS256", "kid": "first"}


@dataclass
class Client(ClientMixin):  # type: ignore[misc]  # authlib has no types
    id: str
    secret: str

    def get_client_id(self) -> str:
        return self.id

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri.endswith("/console/openid/back")

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == self.secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


@dataclass
class Code:
    """The data that the provider stores for an authorization code."""

    user: Mapping[str, Any]
    redirect_uri: str
    scope: str
    nonce: str
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return self.nonce

    def get_auth_time(self) -> None:
        return None

    get_acr = get_amr = get_auth_time


class _Request(OAuth2Request):  # type: ignore[misc]  # authlib has no types
    def __init__(self, request: Request, form: Mapping[str, str]) -> None:
        super().__init__(request.method, str(request.url), headers=request.headers)
        self._query, self._fields = dict(request.query_params), dict(form)
        self.payload = BasicOAuth2Payload(self._query | self._fields)

    @property
    def args(self) -> Mapping[str, str]:
        return self._query

    @property
    def form(self) -> Mapping[str, str]:
        return self._fields


class _Server(AuthorizationServer):  # type: ignore[misc]  # authlib has no types
    def query_client(self, client_id: str) -> Client | None:
        return Client(CLIENT, SECRET) if client_id == CLIENT else None

    def save_token(self, token: object, request: object) -> None:
        """Does nothing, because no request uses an access token."""

    def create_oauth2_request(self, request: _Request) -> _Request:
        return request

    def handle_response(self, status: int, body: Any, headers: list[tuple[str, str]]) -> Response:
        made = JSONResponse(body, status) if isinstance(body, dict) else Response(body, status)
        made.headers.update(dict(headers))
        return made

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Does nothing, because there are no receivers."""


def new_key() -> RSAKey:
    """A key for ID tokens. To make one takes a processor up to half a second."""
    return RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})


first_key = cache(new_key)
"""The key that every provider of a test session begins with."""


@dataclass
class Provider:
    """An OpenID provider. `user`: the claims of the person who signs in; None: the person refuses.

    `says`: claims that replace those of the ID token; None removes a claim. `token_of`: makes the ID token from its
    claims. `document`: entries that replace those of the discovery document. `status`: of every answer to the gateway;
    None: the right one. `silent`: no request is answered.
    """

    user: dict[str, Any] | None = None
    says: dict[str, Any] = field(default_factory=dict)
    token_of: Callable[[dict[str, Any]], str] | None = None
    document: dict[str, Any] = field(default_factory=dict)
    status: int | None = None
    silent: bool = False
    url: str = ""
    asked: list[str] = field(default_factory=list)
    key: RSAKey = field(default_factory=first_key)

    def __post_init__(self) -> None:
        self._codes: dict[str, Code] = {}
        self._server = _Server()
        self._server.register_token_generator("default", BearerTokenGenerator(lambda **_: "an-access-token"))
        self._server.register_grant(self._grant(), [CodeChallenge(required=True), self._openid()])
        routes = {"/.well-known/openid-configuration": self._discovery, "/keys": self._keys, "/token": self._token}
        self.app = Starlette(
            routes=[
                Route("/authorize", self._authorize),
                *(
                    Route(path, self._asked_by_the_gateway(answer), methods=["GET", "POST"])
                    for path, answer in routes.items()
                ),
            ]
        )

    def signed(self, claims: dict[str, Any], *, key: RSAKey | None = None) -> str:
        """An ID token with these claims, by default with the provider's key."""
        return jwt.encode(_HEADER, claims, key or self.key)

    def _grant(self) -> type[AuthorizationCodeGrant]:
        codes = self._codes

        class Grant(AuthorizationCodeGrant):  # type: ignore[misc]  # authlib has no types
            def save_authorization_code(self, code: str, request: _Request) -> None:
                sent = request.payload.data
                wanted = ("redirect_uri", "scope", "nonce", "code_challenge", "code_challenge_method")
                codes[code] = Code(request.user, *(sent[name] for name in wanted))

            def query_authorization_code(self, code: str, client: Client) -> Code | None:
                return codes.get(code)

            def delete_authorization_code(self, authorization_code: Code) -> None:
                for code in [code for code, kept in codes.items() if kept is authorization_code]:
                    del codes[code]

            def authenticate_user(self, authorization_code: Code) -> Mapping[str, Any]:
                return authorization_code.user

        return Grant

    def _openid(self) -> OpenIDCode:
        provider = self

        class OpenID(OpenIDCode):  # type: ignore[misc]  # authlib has no types
            def exists_nonce(self, nonce: str, request: object) -> bool:
                return any(code.nonce == nonce for code in provider._codes.values())

            def get_client_claims(self, client: Client) -> dict[str, Any]:
                return {"iss": provider.url, "aud": [client.id]}

            def get_client_algorithm(self, client: Client) -> str:
                return "RS256"

            def resolve_client_private_key(self, client: Client) -> RSAKey:
                return provider.key

            def get_encode_header(self, client: Client) -> dict[str, str]:
                return dict(_HEADER)

            def generate_user_info(self, user: Mapping[str, Any], scope: str) -> Mapping[str, Any]:
                return user

            def encode_id_token(self, token: dict[str, Any], request: _Request) -> str:
                right = super().encode_id_token(token, request)
                claims = jwt.decode(right, provider.key).claims | provider.says
                claims = {name: value for name, value in claims.items() if value is not None}
                return (provider.token_of or provider.signed)(claims)

        return OpenID(require_nonce=True)

    def _asked_by_the_gateway(self, answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            self.asked.append(request.url.path)
            if self.silent:
                await asyncio.Event().wait()
            if self.status is not None:
                return JSONResponse({"error": "server_error"}, self.status)
            given: Response = await answer(request)
            return given

        return answered

    async def _discovery(self, request: Request) -> Response:
        right = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "none", "HS256"],
        }
        return JSONResponse(right | self.document)

    async def _keys(self, request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def _authorize(self, request: Request) -> Response:
        asked = _Request(request, {})
        grant = self._server.get_consent_grant(asked, self.user)
        made: Response = self._server.create_authorization_response(asked, grant_user=self.user, grant=grant)
        return made

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        made: Response = self._server.create_token_response(_Request(request, form))
        return made


@asynccontextmanager
async def openid_provider() -> AsyncIterator[Provider]:
    provider = Provider()
    async with served(provider.app) as url:
        provider.url = url
        yield provider
