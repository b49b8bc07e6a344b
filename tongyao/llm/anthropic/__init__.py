"""The engine for Claude and servers with the Messages API. Public: `engine`, `client`, `dialogue`, `step_settings`."""
