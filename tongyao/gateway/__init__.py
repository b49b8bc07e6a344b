"""The HTTP server: the API, MCP and the console, over `tongyao.app`. Public: `server`, which puts them together.

`access` and `problems` are used by all parts; `api`, `mcp` and `console` do not import each other.
"""
