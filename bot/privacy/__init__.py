"""Retention, erasure and export of personal data."""
