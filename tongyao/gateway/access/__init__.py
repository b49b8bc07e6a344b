"""Admission of requests: authentication, rate and size limits, the HTTP server. All modules are public inside the gateway."""
