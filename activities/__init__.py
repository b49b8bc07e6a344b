"""The activities of the workflows, with one module per step. All activities are idempotent.

Public: the activity class of each module, and `dependencies`, the interfaces that activities call.
"""
