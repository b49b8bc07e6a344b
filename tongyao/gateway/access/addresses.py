"""The client address of a request, and the host name it was sent to."""

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
"""Bits of the prefix that one IPv6 client is given: it may send from any address in it."""
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:@/\s]+)(:\d*)?", re.IGNORECASE)
UNKNOWN_HOST: Final = HttpProblem(
    400,
    "unknown_host",
    "this service does not answer under the host in the header Host: use the address with which it was started, "
    "or set TONGYAO_PUBLIC_URL to the address under which people reach it",
)


class ClientAddresses:
    """The key by which a client is counted. `X-Forwarded-For` is believed from `proxies` alone: addresses or networks."""

    def __init__(self, proxies: Sequence[str] = ()) -> None:
        self._proxies = [ip_network(proxy) for proxy in proxies]

    def of(self, scope: Scope) -> str:
        """The address of the client, as it is counted."""
        peer = _parsed((scope.get("client") or ("",))[0])
        if peer is not None and self._is_proxy(peer):
            forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
            for hop in reversed(forwarded.decode("latin-1").split(",")):  # what a proxy added stands last
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
    """IPv6 by its /64; this machine, which has sixteen million addresses of its own, as one client."""
    if address is None:
        return UNKNOWN
    if address.is_loopback:
        return LOOPBACK
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _NETWORK_OF_ONE_CLIENT), strict=False))
    return str(address)


def accepted_hosts(public_url: str, bound: str) -> list[str]:
    """The host names under which the gateway answers: that of its public address, the one it is bound to, this machine's own."""
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
    """ASGI middleware: the problem `unknown_host` where the header Host names none of `hosts`."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            named = _HOST.fullmatch(Headers(scope=scope).get("host", ""))
            if named is None or named[1].lower() not in self._hosts:
                await problem_response(UNKNOWN_HOST)(scope, receive, send)
                return
        await self._app(scope, receive, send)
