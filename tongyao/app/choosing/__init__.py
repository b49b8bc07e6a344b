"""Before the rounds: candidates with their reasons, the demander's choice, help with writing an intent, and what is open for a
child. All modules are public.
"""
