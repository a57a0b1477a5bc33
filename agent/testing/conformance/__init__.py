"""Suites for every implementation of an agent interface: subclass one and provide its fixture.

class TestMyProvider(SandboxSuite):
    @pytest.fixture
    def provider(self, tmp_path):
        return MyProvider(tmp_path)
"""

from agent.testing.conformance.attacks import SandboxAttackSuite
from agent.testing.conformance.catalogue import CatalogueSuite
from agent.testing.conformance.journal import JournalSuite
from agent.testing.conformance.memory import MemorySuite
from agent.testing.conformance.sandbox import SandboxSuite
from agent.testing.conformance.subagents import SubagentSuite
from agent.testing.conformance.transcribers import TranscriberSuite
from agent.testing.conformance.uploads import UploadSuite

__all__ = [
    "CatalogueSuite",
    "JournalSuite",
    "MemorySuite",
    "SandboxAttackSuite",
    "SandboxSuite",
    "SubagentSuite",
    "TranscriberSuite",
    "UploadSuite",
]
