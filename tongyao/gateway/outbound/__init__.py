"""What the gateway sends to others: mails, webhooks, requests to people's own agents. Public: `notifications`, `notifiers`,
`agents`, `http_agent`. Every request goes through `http_client`, which checks addresses.
"""
