"""The extension points: interfaces for custom implementations (docs/extending.md), with the types that an
implementation uses.

Each of the five is a `typing.Protocol`: a class with the right methods is enough.
"""

from activities.dependencies import Retriever
from tongyao.app.notifications.notifier import Notifier, NotSent, Outgoing
from tongyao.app.people.profile_source import (
    ChatMessage,
    ProfileSource,
    ProfileSourceFactory,
    RenewCredentials,
    SourceError,
)
from tongyao.field.encoders.encoder import Encoder, Vectors
from tongyao.llm.engine import Answer, Call, CallKey, Engine

__all__ = [
    "Answer",
    "Call",
    "CallKey",
    "ChatMessage",
    "Encoder",
    "Engine",
    "NotSent",
    "Notifier",
    "Outgoing",
    "ProfileSource",
    "ProfileSourceFactory",
    "RenewCredentials",
    "Retriever",
    "SourceError",
    "Vectors",
]
