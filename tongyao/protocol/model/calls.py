"""Model calls: their key and their use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallKey:
    """The key of a model call. At most one settled answer exists per key and input (docs/protocol.md §8.1).

    `round` is 0 outside the rounds. `alias` is empty for calls about no participant. `revision` is the
    version of the plan or of a participant's words, from 1. `reask` is 0 for the first call and 1 for its repair.
    """

    process: str
    step: str
    round: int = 0
    alias: str = ""
    revision: int = 1
    reask: int = 0

    def __str__(self) -> str:
        """The key as text, which names the call's reservation. It begins with the id of the process and a slash."""
        return "/".join((self.process, self.step, str(self.round), self.alias, str(self.revision), str(self.reask)))


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `input_tokens` excludes tokens written to or read from the cache, as the API reports them.

    `requests`: number of requests to the service. It is 2 if an answer was cut off and requested again with a larger
    limit.
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
