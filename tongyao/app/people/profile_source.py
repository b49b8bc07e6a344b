"""Interface to a person's own agent on another platform: an extension point (docs/extending.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from tongyao.protocol.model.value import Value


class ChatMessage(Value):
    """One message of a conversation with an agent."""

    role: Literal["system", "user", "assistant"]
    content: str


class SourceError(Exception):
    """The platform gave no answer. `code` is a fixed word. `permanent`: whether retries are useless.

    The message states the remedy, and contains no secret and no text.
    """

    def __init__(self, code: str, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.permanent = permanent


class ProfileSource(Protocol):
    """A person's agent. Both methods raise `SourceError` for expected failures."""

    async def get_profile(self) -> str:
        """Return the platform's profile of the person, as Markdown or plain text."""
        ...

    async def chat(self, messages: Sequence[ChatMessage]) -> str:
        """Return the agent's answer, in the person's own manner."""
        ...


RenewCredentials = Callable[[], AbstractAsyncContextManager[dict[str, str]]]
"""`async with renew() as credentials:` gives the person's stored credentials. Changes in the block are stored at its
end. Blocks for one person's agent do not run concurrently."""


class ProfileSourceFactory(Protocol):
    """Makes the `ProfileSource` of one person. Raises `ValueError` for an invalid config or invalid credentials."""

    def __call__(
        self, config: Mapping[str, Any], credentials: Mapping[str, str], renew: RenewCredentials
    ) -> ProfileSource: ...
