"""The remote provider, with a provisioner that really runs, under the suites of every sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.core.interfaces import SandboxProvider
from roebot_testing.agent.conformance import SandboxSuite
from tests.sandbox.provisioning import Provisioner, provisioner, remote

pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provisioner]:
    with provisioner(tmp_path_factory.mktemp("provisioner")) as running:
        yield running


class TestRemoteSandbox(SandboxSuite):
    @pytest.fixture
    def provider(self, tmp_path: Path, service: Provisioner) -> SandboxProvider:
        return remote(tmp_path, service.url)
