"""A person's own agent on a platform of theirs: an extension point (docs/extending.md)."""

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
    """The platform gave no answer. `code` is a closed word. `permanent`: a retry is of no use.

    The message says what to do, and holds no secret and no text.
    """

    def __init__(self, code: str, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.permanent = permanent


class ProfileSource(Protocol):
    """A person's agent. Both methods raise `SourceError` and no other error on purpose."""

    async def get_profile(self) -> str:
        """Return the platform's profile of the person, as Markdown or plain text."""
        ...

    async def chat(self, messages: Sequence[ChatMessage]) -> str:
        """The agent's answer, in the person's own manner."""
        ...


RenewCredentials = Callable[[], AbstractAsyncContextManager[dict[str, str]]]
"""`async with renew() as credentials:` gives the person's credentials as they are stored now. What the block changes in them is
stored at its end. No two blocks of one person's agent run at a time."""


class ProfileSourceFactory(Protocol):
    """Makes the `ProfileSource` of one person. Raises `ValueError` for an invalid config or invalid credentials."""

    def __call__(
        self, config: Mapping[str, Any], credentials: Mapping[str, str], renew: RenewCredentials
    ) -> ProfileSource: ...
