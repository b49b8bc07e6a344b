"""The HTTP API (docs/api.md): one module for each group of routes. Public: `app`."""
