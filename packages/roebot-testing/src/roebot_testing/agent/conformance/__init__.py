"""Suites for every implementation of an agent interface: subclass one and provide its fixture.

class TestMyProvider(SandboxSuite):
    @pytest.fixture
    def provider(self, tmp_path):
        return MyProvider(tmp_path)
"""

from roebot_testing.agent.conformance.attacks import SandboxAttackSuite
from roebot_testing.agent.conformance.catalogue import CatalogueSuite
from roebot_testing.agent.conformance.journal import JournalSuite
from roebot_testing.agent.conformance.memory import MemorySuite
from roebot_testing.agent.conformance.sandbox import SandboxSuite
from roebot_testing.agent.conformance.subagents import SubagentSuite
from roebot_testing.agent.conformance.transcribers import TranscriberSuite
from roebot_testing.agent.conformance.uploads import UploadSuite

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
