"""What middleware stands on: protocols, with conformance suites in `agent.testing.conformance`."""
