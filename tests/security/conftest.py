"""The stack with its gateway, which attacks go through."""

from __future__ import annotations

from tests.gateway.conftest import gateway

__all__ = ["gateway"]
