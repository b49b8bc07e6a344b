"""Outgoing requests of the gateway: mails, webhooks, requests to people's own agents. Public: `notifications`, `notifiers`,
`agents`, `http_agent`. Every request goes through `http_client`, which checks addresses.
"""
