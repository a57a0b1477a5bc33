"""Fixtures of all tests of the agent in this folder."""

from tests.harness.agent_process import shared_certificates, spans_on_demand

__all__ = ["shared_certificates", "spans_on_demand"]
