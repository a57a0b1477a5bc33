"""Retention, erasure and export of what people wrote, and the seals of the audit log."""
