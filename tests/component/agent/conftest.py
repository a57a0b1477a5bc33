"""Fixtures of all tests of the agent in this folder."""

from tests.harness.agent_process import shared_certificates

__all__ = ["shared_certificates"]
