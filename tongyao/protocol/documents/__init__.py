"""Documents made of a record: Markdown of tension, observations and plan, a delivery's page, and the tasks of a plan as data.

Public: `markdown`, `plan_page`, `plan_answers`, `plan_machine`, `delivery_page`.
"""
