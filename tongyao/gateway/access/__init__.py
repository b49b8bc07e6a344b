"""Who may come in: authentication, rate and size limits, the HTTP server. All modules are public inside the gateway."""
