"""The activities of the workflows: one module per step. All are idempotent.

Public: the activity class of each module, and `dependencies`, the interfaces that activities call.
"""
