"""Model calls: what identifies one, and what it used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallKey:
    """The key of a model call: at most one settled answer ever exists per key (docs/protocol.md §8.1).

    `round` is 0 outside the rounds, `alias` empty where no participant is meant; `revision` counts plans and
    corrections from 1; `reask` is 0 for the first call, 1 for the one re-ask that a guard may cause.
    """

    process: str
    step: str
    round: int = 0
    alias: str = ""
    revision: int = 1
    reask: int = 0

    def __str__(self) -> str:
        """The name under which a call is reserved; it begins with the id of the process and a slash."""
        return "/".join((self.process, self.step, str(self.round), self.alias, str(self.revision), str(self.reask)))


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `input_tokens` excludes what was written to or read from the cache, as the API reports it.

    `requests` counts what was sent to a service: 2 when a cut answer was asked for again with a larger limit.
    """

    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
        )
