"""The command line: one module for each group of commands, as listed in `tongyao/cli.py`. Only the commands are public.

All commands share `context`, `options`, `terminal` and `words`. A command imports other packages only when it runs.
"""
