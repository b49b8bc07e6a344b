"""Rules on plans (docs/plans.md): validity, answers, holes after a decline, and the use of residual tensions. All
modules are public."""
