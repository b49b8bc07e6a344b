"""Admission of requests: authentication, rate and size limits, the HTTP server. The gateway may use all modules."""
