"""Rules on plans (docs/plans.md): what makes a plan valid, how it was answered, what a decline leaves open, and where a
residual tension goes. All modules are public.
"""
