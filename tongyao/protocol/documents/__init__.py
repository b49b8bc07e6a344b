"""Documents made from a record: Markdown of tension, observations and plan, the page of a delivery, and tasks as data.

Public: `markdown`, `plan_page`, `plan_answers`, `plan_machine`, `delivery_page`.
"""
