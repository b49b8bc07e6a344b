"""JSON answers of a model: their schema, parsing, and the correction of small faults. Public: `parsing`, `schema`."""
