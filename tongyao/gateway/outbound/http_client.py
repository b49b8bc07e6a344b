"""HTTP requests to addresses that people entered: never into the private network of this server, unless it is allowed."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import httpx


class AddressForbidden(httpx.RequestError):
    """The address is not one of the public internet, or not encrypted."""


def client(*, private_allowed: bool, seconds: float) -> httpx.AsyncClient:
    """A client that follows no redirects, reads no proxy settings, and goes to public addresses over TLS only.

    Its requests raise `AddressForbidden` for others. `seconds`: for every wait, of connecting and of each read.
    """
    return httpx.AsyncClient(
        transport=_PublicTransport() if not private_allowed else None,
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
    )


class _PublicTransport(httpx.AsyncHTTPTransport):
    """Connects to the address it has checked, so a name that resolves differently a moment later changes nothing."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if request.url.scheme != "https":
            raise AddressForbidden("only https:// addresses are used here", request=request)
        address = await _address(host, request)
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return await super().handle_async_request(request)


async def _address(host: str, request: httpx.Request) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        raise httpx.ConnectError("the name does not resolve", request=request) from None
    addresses = [str(one[4][0]) for one in found]
    if not all(is_public(one) for one in addresses):
        raise AddressForbidden("this address is not one of the public internet", request=request)
    return addresses[0]


def is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    one = mapped or parsed
    return one.is_global and not one.is_multicast
