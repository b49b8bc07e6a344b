"""Types that cross Temporal: names, inputs, outputs of workflows, activities, updates. All are public.

`process` has the types of a process. `maintenance` has those of the other workflows.
"""
