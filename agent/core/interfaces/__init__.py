"""Protocols that the middleware depends on; `agent.testing.conformance` holds their test suites."""
