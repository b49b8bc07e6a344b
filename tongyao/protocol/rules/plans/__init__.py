"""Rules on plans (docs/plans.md): answers, holes after a decline, residual tensions. All are public."""
