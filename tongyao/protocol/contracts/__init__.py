"""The types that cross Temporal: names, inputs and outputs of workflows, activities, updates and signals. All modules are public.

`process` has those of a crystallization process, `maintenance`, `reindex` and `recitation` those of the other workflows.
"""
