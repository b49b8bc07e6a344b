"""Use cases of operators (docs/operations.md), such as repairs, upgrades, schedules. All modules are public."""
