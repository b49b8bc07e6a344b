"""Builds the index of one long text. Public inside the Highway: `recitation`, `walking`, `segments`, `staging`."""
