"""Messages from the body to the workflow, and what people read of them.

Public: `wire` (the bodies), `messages` (the use case), `message_relay` (delivery), `inbox`, `party_events` (streams).
"""
