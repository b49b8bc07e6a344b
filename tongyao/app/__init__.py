"""Use cases as functions that take a `context.AppContext`. The gateway, the command line and tests call them.

Public: all modules. `authorization` determines the caller's role, `action_permissions` has the permitted actions of
each role, and `errors` the errors of use cases.
"""
