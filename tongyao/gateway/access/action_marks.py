"""The mark of an operation's action in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from tongyao.app.action_permissions import Action


def action(action: Action) -> dict[str, Any]:
    """Marks an operation with its action: tests compare it with the table of permissions."""
    return {"x-tongyao-action": action.value}
