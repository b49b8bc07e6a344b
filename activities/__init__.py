"""All side effects of workflows: one module for each step, idempotent. Public: the activity class of each module, and
`dependencies`, which says by interface what activities call.
"""
