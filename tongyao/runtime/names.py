"""Names of persons and firms, as every installation finds them in profiles."""

from __future__ import annotations

from collections.abc import Sequence

from tongyao.protocol.model.tension import NameFound


def find_names(text: str) -> Sequence[NameFound]:
    """Not for the event loop: the first call loads dictionaries."""
    from tongyao.llm.extractive.names_in_text import names_in_text  # late: it takes seconds

    return names_in_text(text)
