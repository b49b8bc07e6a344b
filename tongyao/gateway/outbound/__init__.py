"""Outgoing requests of the gateway: mails, webhooks, requests to people's own agents and to the OpenID provider.

Public: `notifications`, `agents`, `http_agent`, `openid`. `http_client` checks the addresses of requests.
"""
