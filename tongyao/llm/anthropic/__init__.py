"""The engine for Claude and for servers that implement the Messages API. Public: `engine`, `client`, `dialogue`, `step_settings`."""
