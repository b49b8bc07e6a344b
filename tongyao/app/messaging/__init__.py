"""Messages from the request body to the workflow, and the views that people read.

Public: `body_conversion`, `messages` (the use case), `message_relay` (delivery), `inbox`, `party_events` (streams).
"""
