"""The types that cross Temporal: names, inputs and outputs of workflows, activities, updates and signals. All modules
are public.

`process` has the types of a process. `maintenance`, `reindex` and `recitation` have those of the other workflows.
"""
