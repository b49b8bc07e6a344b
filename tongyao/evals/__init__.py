"""Evaluation on written cases (docs/evaluation.md). Public: `cases`, `measure`, `judge`, `field`."""
