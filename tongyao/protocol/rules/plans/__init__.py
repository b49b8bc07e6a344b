"""Rules on plans (docs/plans.md): validity, answers, holes after a decline, residual tensions. All are public."""
