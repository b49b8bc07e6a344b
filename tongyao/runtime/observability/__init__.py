"""Logs, metrics and traces (docs/operations.md §1, §9). Public: `logs`, `telemetry`, `traces`, `instrumentation`."""
