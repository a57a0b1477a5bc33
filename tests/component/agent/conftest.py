"""Fixtures of all tests of the agent in this folder."""

from tests.harness.agent_process import inline_spans, shared_certificates

__all__ = ["inline_spans", "shared_certificates"]
