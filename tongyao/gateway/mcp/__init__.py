"""The MCP server (docs/mcp.md). Public: `server`. `account` and `calls` have groups of tools."""
