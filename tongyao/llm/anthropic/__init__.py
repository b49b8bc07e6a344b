"""The engine for Claude and servers that speak the Messages API. Public: `engine`, `client`, `dialogue`, `step_settings`."""
