"""The client address of a request, and the host name to which the request was sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tongyao.gateway.problems import HttpProblem, problem_response

UNKNOWN: Final = "unknown"
LOOPBACK: Final = "127.0.0.1"
_NETWORK_OF_ONE_CLIENT: Final = 64
"""Length of the prefix that belongs to one IPv6 client, in bits. The client may send from any address in the prefix."""
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:@/\s]+)(:\d*)?", re.IGNORECASE)
UNKNOWN_HOST: Final = HttpProblem(
    400,
    "unknown_host",
    "this service does not answer under the host in the header Host: use the address with which it was started, "
    "or set TONGYAO_PUBLIC_URL to the address under which people reach it",
)


class ClientAddresses:
    """Computes the key under which the requests of a client are counted.

    `proxies`: addresses or networks from which the header `X-Forwarded-For` is accepted.
    """

    def __init__(self, proxies: Sequence[str] = ()) -> None:
        self._proxies = [ip_network(proxy) for proxy in proxies]

    def of(self, scope: Scope) -> str:
        """Return the key of the client of a request."""
        peer = _parsed((scope.get("client") or ("",))[0])
        if peer is not None and self._is_proxy(peer):
            forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
            for hop in reversed(forwarded.decode("latin-1").split(",")):  # a proxy appends its entry at the end
                said = _parsed(hop.strip())
                if said is None:
                    break
                peer = said
                if not self._is_proxy(said):
                    break
        return _counted(peer)

    def _is_proxy(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._proxies)


def _counted(address: IPv4Address | IPv6Address | None) -> str:
    """Return the key of an address. IPv6 addresses of one /64 have the same key, and so do all loopback addresses."""
    if address is None:
        return UNKNOWN
    if address.is_loopback:
        return LOOPBACK
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _NETWORK_OF_ONE_CLIENT), strict=False))
    return str(address)


def accepted_hosts(public_url: str, bound: str) -> list[str]:
    """Return the host names under which the gateway answers: of its public URL, of the bound address, and loopback."""
    named = urlsplit(public_url).hostname if public_url else None
    hosts = ["127.0.0.1", "localhost", "[::1]", *([named] if named else [])]
    if bound not in ("", "0.0.0.0", "::"):
        hosts.append(f"[{bound}]" if ":" in bound else bound)
    return list(dict.fromkeys(hosts))


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.strip("[]"))
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


class KnownHosts:
    """ASGI middleware that answers `unknown_host` if the header `Host` of a request is not in `hosts`."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            named = _HOST.fullmatch(Headers(scope=scope).get("host", ""))
            if named is None or named[1].lower() not in self._hosts:
                await problem_response(UNKNOWN_HOST)(scope, receive, send)
                return
        await self._app(scope, receive, send)
