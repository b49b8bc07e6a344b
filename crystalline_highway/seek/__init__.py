"""Searches the index of one long text. Public inside the Highway: `seeking`, `output`, `explanation`, `direction`."""
