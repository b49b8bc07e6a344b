"""The HTTP server with the API, MCP and the console, over `tongyao.app`. Public: `server`, which combines the three.

All three use `access` and `problems`. `api`, `mcp` and `console` do not import each other.
"""
