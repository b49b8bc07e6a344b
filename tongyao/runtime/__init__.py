"""Wiring: settings, implementations of the interfaces, and the programs. Public: `installation` (opens an installation,
for programs), `settings`, `wiring`, `serve`, `errors`.
"""
