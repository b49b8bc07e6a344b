"""The product. A package imports only packages before it in this list: `protocol`, `records`, `llm` and `field`, `app`,
`gateway`, `runtime`, `commands`.

Public for extensions: `extension_points`. Programs: `cli`, the command line, and `worker.py` beside this package.
"""
