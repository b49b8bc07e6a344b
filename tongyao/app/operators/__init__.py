"""Use cases of operators (docs/operations.md), such as repairs, upgrades, signals, schedules. All modules are
public."""
