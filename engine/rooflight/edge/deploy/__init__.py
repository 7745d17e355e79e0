"""Deployments at the terminal: plans, estimates, sweeps, GPUs."""
