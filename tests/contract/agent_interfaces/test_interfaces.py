"""The implementations of the agent's ports under their suites."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from langchain_core.tools import BaseTool, tool
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agent.config.harness import MemoryConfig
from agent.core.interfaces import (
    MemoryStore,
    SandboxError,
    SandboxProvider,
    SubagentRunner,
    ToolCatalogue,
    ToolJournal,
)
from agent.harness.subagent_graphs import SubagentGraphs, SubagentModel, SubagentParts
from agent.memory.store import FileMemoryStore, InProcessMemoryStore
from agent.middleware.tool_calls import MemoryJournal, StoreJournal
from agent.sandbox.local import Host, LocalSandboxProvider
from agent.subagents.runner import GraphSubagents
from agent.tools.catalogue import ListedTools
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore
from roebot_testing.agent import ScriptedChatModel
from roebot_testing.agent.conformance import (
    CatalogueSuite,
    JournalSuite,
    MemorySuite,
    SandboxSuite,
    SubagentSuite,
    UploadSuite,
)
from roebot_testing.agent.memory import RecordingMemory
from roebot_testing.agent.remembering import RememberingModel
from roebot_testing.agent.sandbox import MemorySandboxProvider
from roebot_testing.agent.subagents import ScriptedSubagents
from roebot_testing.agent.uploads import MemoryUploadStore


@tool
async def bash(command: str) -> str:
    """Run a command."""
    return command


def local(home: Path, **limits: int) -> LocalSandboxProvider:
    """Without protection; the protected one has its own tests in tests/sandbox."""
    return LocalSandboxProvider(
        UploadStore(ThreadFolders(home)).folders, host=Host(isolation="none"), **limits
    )


class TestMemorySandbox(SandboxSuite):
    @pytest.fixture
    def provider(self) -> SandboxProvider:
        return MemorySandboxProvider()


class TestLocalSandbox(SandboxSuite):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> SandboxProvider:
        return local(tmp_path)

    @pytest.mark.guard(
        "the process group is killed at the end",
        "agent/shared/process.py",
        "        os.killpg(pid, signal.SIGKILL)",
        "        pass",
        against="processes left behind",
    )
    async def test_what_is_left_in_the_background_ends_with_the_command(
        self, provider: SandboxProvider
    ) -> None:
        sandbox = await self.acquired(provider)
        result = await sandbox.execute_command("sleep 60 & echo $!")
        assert result.exit_code == 0
        left = f"/proc/{result.output.strip()}"
        alive = f"test -e {left} && ! grep -q '^State:.Z' {left}/status"
        gone = await sandbox.execute_command(f"while {alive}; do :; done", seconds=10)
        assert not gone.timed_out, "nobody may have buried it yet, but it is dead"

    async def test_a_command_gets_no_variable_of_the_service(
        self, provider: SandboxProvider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        result = await (await self.acquired(provider)).execute_command("env")
        assert "sk-secret" not in result.output
        assert "PATH=" in result.output

    async def test_a_link_leads_nowhere(self, provider: SandboxProvider) -> None:
        sandbox = await self.acquired(provider)
        await sandbox.execute_command("ln -s /etc outside; ln -s /etc/hosts hosts")
        for path in ("outside/hosts", "hosts"):
            with pytest.raises(SandboxError, match="outside"):
                await sandbox.read_file(path)
            with pytest.raises(SandboxError, match="outside"):
                await sandbox.write_file(path, b"x")
        with pytest.raises(SandboxError, match="outside"):
            await sandbox.list_dir("outside")


@pytest.mark.parametrize("kind", ["memory", "local"])
async def test_what_nobody_releases_does_not_stay_for_ever(kind: str, tmp_path: Path) -> None:
    provider: SandboxProvider = MemorySandboxProvider(most=2) if kind == "memory" else local(tmp_path, held=2)
    ids = [await provider.acquire(f"t-{number}") for number in range(3)]
    assert [provider.get(sandbox_id) is None for sandbox_id in ids] == [True, False, False]


class TestProcessJournal(JournalSuite):
    @pytest.fixture
    def journal(self) -> ToolJournal:
        return MemoryJournal()


class TestStoreJournal(JournalSuite):
    @pytest.fixture
    def journal(self) -> ToolJournal:
        return StoreJournal(InMemoryStore())


class TestSqliteJournal(JournalSuite):
    @pytest_asyncio.fixture
    async def journal(self, tmp_path: Path) -> AsyncIterator[ToolJournal]:
        async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            await store.setup()
            yield StoreJournal(store)


class TestRecordingMemory(MemorySuite):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return RecordingMemory()


class TestInProcessMemoryStore(MemorySuite):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return InProcessMemoryStore()


class TestFileMemory(MemorySuite):
    @pytest_asyncio.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[MemoryStore]:
        model = RememberingModel(environ={})

        async def settings() -> MemoryConfig:
            return MemoryConfig(debounce_seconds=0)

        memory = FileMemoryStore(tmp_path, settings, model.ainvoke)
        yield memory
        await memory.close()

    async def wait_until_remembered(self, store: MemoryStore) -> None:
        assert isinstance(store, FileMemoryStore)
        await store.wait_until_idle()


class TestMemoryUploads(UploadSuite):
    @pytest.fixture
    def store(self) -> MemoryUploadStore:
        return MemoryUploadStore()

    async def put(self, store: MemoryUploadStore, thread_id: str, filename: str, content: bytes) -> None:  # type: ignore[override]
        store.put(thread_id, filename, content)


class TestLocalUploads(UploadSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> UploadStore:
        return UploadStore(ThreadFolders(tmp_path))

    async def put(self, store: UploadStore, thread_id: str, filename: str, content: bytes) -> None:  # type: ignore[override]
        async with store.batch(thread_id) as batch:
            await batch.begin(filename)
            await batch.write(content)
            await batch.commit()


class TestListedTools(CatalogueSuite):
    def make_catalogue(self, tools: Sequence[BaseTool]) -> ToolCatalogue:
        return ListedTools(tools)


class TestGraphSubagents(SubagentSuite):
    @pytest.fixture
    def runner(self) -> SubagentRunner:
        model = SubagentModel(ScriptedChatModel(environ={}))
        return GraphSubagents(SubagentGraphs(SubagentParts(model, [bash])))


class TestScriptedSubagents(SubagentSuite):
    @pytest.fixture
    def runner(self) -> SubagentRunner:
        return ScriptedSubagents()
