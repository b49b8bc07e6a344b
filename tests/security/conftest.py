"""The stack with its gateway, which attacks go through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from temporalio.client import Client

from tests.gateway.conftest import UNLIMITED, GatewayHarness, gateway
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.server import application

__all__ = ["gateway", "limited", "whole"]


@pytest.fixture(scope="module")
async def whole(temporal: Client, database_url: str) -> AsyncIterator[GatewayHarness]:
    """A gateway with its ordinary limits, for the tests of one file."""
    engine = ScriptedEngine(Script())
    async with open_stack(temporal, database_url, engine) as stack:
        yield GatewayHarness(stack, stack.context, application(stack.context), engine)


def limited(gateway: GatewayHarness, **options: Any) -> GatewayHarness:
    """The same stack behind a gateway with other options."""
    context = replace(gateway.context, options=GatewayOptions.model_validate({**UNLIMITED, **options}))
    return GatewayHarness(gateway.stack, context, application(context), gateway.engine)
