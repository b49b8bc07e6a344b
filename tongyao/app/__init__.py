"""Use cases, called by the gateway, the command line and tests alike: functions over one `context.AppContext`.

Public: all modules. `authorization` says who calls, `action_permissions` who may do what, `errors` how a use case fails.
"""
