"""Steps before the rounds: candidates with their reasons, the demander's choice, help with writing an intent, and the
open points that a child can take up. All modules are public."""
