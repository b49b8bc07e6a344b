"""The command line: arguments, options and help. What a command does is in `actions`."""
