"""Replicas of the service under load and faults, judged by what people see and what the database recorded."""
