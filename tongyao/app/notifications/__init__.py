"""Notifications of people: their channels and texts. Public: `notifier` (the interface of a kind of channel), `channels`,
`notices`. The transports are in `gateway/outbound`.
"""
