"""The platform adapters: all SDK code, and nothing else."""
