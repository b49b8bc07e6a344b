"""Wiring: settings, implementations of the interfaces, and programs that run. Public: `installation` (an installation for a
program), `settings`, `wiring`, `serve`, `errors`.
"""
