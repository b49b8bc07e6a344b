"""Texts that people read, in English and Chinese: `<room>/<page>.toml`. Public: `catalogue`, the one loader."""
