"""JSON answers of a model: their schema, how they are read, and small faults that are corrected. Public: `parsing`, `schema`."""
