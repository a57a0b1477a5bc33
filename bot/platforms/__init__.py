"""The platform adapters, which contain all SDK code and nothing else."""
