"""Which network addresses are of the public internet."""

from __future__ import annotations

import ipaddress
from typing import Final

_NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(one) for one in ("fec0::/10", "3fff::/20", "5f00::/16", "192.88.99.0/24", "192.0.0.0/24")
)
"""Networks that `ipaddress` of some Python takes for global: site-local addresses, documentation, segment routing, relays of 6to4, assignments
of the IETF, among them one where a provider's machines read their secrets."""


def is_public(address: str) -> bool:
    """Whether an address, and every IPv4 address that it carries, is one of the public internet."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if any(parsed in network for network in _NOT_PUBLIC):
        return False
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        carried = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
        return carried is not None and is_public(str(carried))
    return all(is_public(str(one)) for one in _carried(parsed))


def _carried(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses inside an IPv6 address, of every way to reach IPv4 through IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    compatible = int(address) >> 32 == 0
    isatap = (int(address) >> 32) & 0xFCFFFFFF == 0x00005EFE
    if compatible or isatap or any(address in network for network in _NAT64):
        found.append(last)
    return [one for one in found if one is not None]
