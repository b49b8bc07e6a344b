"""Use cases of operators: correct rows, resume, upgrade, signals, schedules, versions, payloads (docs/operations.md).
All modules are public."""
