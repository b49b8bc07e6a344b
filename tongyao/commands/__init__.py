"""The command line: one module for each group of commands, named in `tongyao/cli.py`. Nothing is public but its commands.

`context`, `options`, `terminal` and `words` are shared by all of them. A command imports the product when it runs.
"""
