"""Tests for every sandbox."""

from __future__ import annotations

import pytest

from agent.core.interfaces import Sandbox, SandboxError, SandboxGone, SandboxProvider

THREAD = "thread-1"


@pytest.mark.asyncio
class SandboxSuite:
    """Subclasses provide a fixture `provider`, new for each test."""

    @pytest.fixture
    def provider(self) -> SandboxProvider:
        """The provider to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named provider")

    async def acquired(self, provider: SandboxProvider, thread_id: str = THREAD) -> Sandbox:
        """Return the thread's sandbox."""
        sandbox = provider.get(await provider.acquire(thread_id))
        assert sandbox is not None, "what was acquired can be had"
        return sandbox

    async def test_the_same_thread_always_gets_the_same_id(self, provider: SandboxProvider) -> None:
        """The id is the same before and after a release."""
        first = await provider.acquire(THREAD)
        assert await provider.acquire(THREAD) == first
        await provider.release(first)
        assert await provider.acquire(THREAD) == first
        assert await provider.acquire("thread-2") != first

    async def test_acquiring_twice_is_one_acquisition(self, provider: SandboxProvider) -> None:
        """One release gives it up."""
        sandbox_id = await provider.acquire(THREAD)
        await provider.acquire(THREAD)
        await provider.release(sandbox_id)
        assert provider.get(sandbox_id) is None

    async def test_releasing_what_is_not_there_is_no_error(self, provider: SandboxProvider) -> None:
        """Twice, or of an unknown id."""
        sandbox_id = await provider.acquire(THREAD)
        await provider.release(sandbox_id)
        await provider.release(sandbox_id)
        await provider.release("unknown")
        assert provider.get("unknown") is None

    async def test_a_released_sandbox_refuses(self, provider: SandboxProvider) -> None:
        """Later uses of it raise an error with the reason."""
        sandbox_id = await provider.acquire(THREAD)
        sandbox = provider.get(sandbox_id)
        assert sandbox is not None
        await provider.release(sandbox_id)
        with pytest.raises(SandboxGone):
            await sandbox.execute_command("echo hello")
        with pytest.raises(SandboxGone):
            await sandbox.read_file("a.txt")

    async def test_files_stay_after_a_release(self, provider: SandboxProvider) -> None:
        """For the next run of the thread."""
        await (await self.acquired(provider)).write_file("a.txt", b"kept")
        await provider.release(await provider.acquire(THREAD))
        assert await (await self.acquired(provider)).read_file("a.txt") == b"kept"

    async def test_closing_keeps_files_and_ends_nothing_for_good(self, provider: SandboxProvider) -> None:
        sandbox = await self.acquired(provider)
        await sandbox.write_file("kept.txt", b"kept")
        await provider.close()
        await provider.close()
        assert await (await self.acquired(provider)).read_file("kept.txt") == b"kept"

    async def test_threads_do_not_see_each_other(self, provider: SandboxProvider) -> None:
        """Neither files nor folders."""
        await (await self.acquired(provider)).write_file("secret.txt", b"mine")
        other = await self.acquired(provider, "thread-2")
        with pytest.raises(SandboxError):
            await other.read_file("secret.txt")
        assert list(await other.list_dir(".")) == []

    async def test_a_command_gives_its_output_and_its_code(self, provider: SandboxProvider) -> None:
        """Both."""
        sandbox = await self.acquired(provider)
        result = await sandbox.execute_command("echo hello")
        assert (result.output, result.exit_code, result.truncated) == ("hello\n", 0, False)
        result = await sandbox.execute_command("echo before; exit 3")
        assert (result.output, result.exit_code) == ("before\n", 3)
        assert not result.timed_out
        assert (await sandbox.execute_command("no-such-command")).exit_code == 127

    async def test_a_command_works_on_the_files(self, provider: SandboxProvider) -> None:
        """Its folder is the workspace."""
        sandbox = await self.acquired(provider)
        await sandbox.write_file("sub/a.txt", b"content\n")
        assert (await sandbox.execute_command("cat sub/a.txt")).output == "content\n"

    async def test_a_command_that_takes_too_long_is_stopped(self, provider: SandboxProvider) -> None:
        """Its earlier output is returned."""
        sandbox = await self.acquired(provider)
        result = await sandbox.execute_command("echo begun; sleep 60", seconds=3)
        assert result.timed_out
        assert result.output == "begun\n"

    async def test_a_long_output_loses_its_middle(self, provider: SandboxProvider) -> None:
        """Its beginning and end are preserved."""
        result = await (await self.acquired(provider)).execute_command("seq 1000000")
        assert result.truncated
        assert result.output.startswith("1\n2\n")
        assert result.output.endswith("1000000\n")
        assert len(result.output) < 3_000_000

    async def test_writing_replaces_or_appends(self, provider: SandboxProvider) -> None:
        """In folders that are made."""
        sandbox = await self.acquired(provider)
        await sandbox.write_file("a/b/c.bin", b"\x00one")
        await sandbox.write_file("a/b/c.bin", b"\x00two")
        await sandbox.write_file("a/b/c.bin", b" more", append=True)
        assert await sandbox.read_file("a/b/c.bin") == b"\x00two more"

    async def test_virtual_paths_are_the_same_files(self, provider: SandboxProvider) -> None:
        """Relative ones lead into the workspace."""
        sandbox = await self.acquired(provider)
        await sandbox.write_file("/mnt/user-data/workspace/a.txt", b"a")
        await sandbox.write_file("/mnt/user-data/outputs/o.txt", b"o")
        assert await sandbox.read_file("a.txt") == b"a"
        assert await sandbox.read_file("./a.txt") == b"a"
        assert [entry.name for entry in await sandbox.list_dir("/mnt/user-data/outputs")] == ["o.txt"]

    @pytest.mark.parametrize("folder", ["workspace", "uploads", "outputs"])
    async def test_a_new_thread_can_be_written_to(self, provider: SandboxProvider, folder: str) -> None:
        """Any of its folders may be used first."""
        sandbox = await self.acquired(provider)
        await sandbox.write_file(f"/mnt/user-data/{folder}/a.txt", b"first")
        assert await sandbox.read_file(f"/mnt/user-data/{folder}/a.txt") == b"first"

    async def test_a_folder_is_listed_by_name(self, provider: SandboxProvider) -> None:
        """With kinds and sizes."""
        sandbox = await self.acquired(provider)
        await sandbox.write_file("b.txt", b"12345")
        await sandbox.write_file("a/deep.txt", b"1")
        found = [(entry.name, entry.is_dir, entry.size) for entry in await sandbox.list_dir(".")]
        assert found == [("a", True, 0), ("b.txt", False, 5)]

    @pytest.mark.parametrize(
        "path", ["../x", "a/../../x", "/etc/passwd", "/mnt/user-data", "/mnt/user-data-x/outputs/a", "/mnt/x"]
    )
    async def test_no_path_leads_outside(self, provider: SandboxProvider, path: str) -> None:
        """Neither for reading, nor for writing, nor for listing."""
        sandbox = await self.acquired(provider)
        with pytest.raises(SandboxError):
            await sandbox.read_file(path)
        with pytest.raises(SandboxError):
            await sandbox.write_file(path, b"x")
        with pytest.raises(SandboxError):
            await sandbox.list_dir(path)

    async def test_what_is_missing_or_of_the_wrong_kind_says_so(self, provider: SandboxProvider) -> None:
        """As one error."""
        sandbox = await self.acquired(provider)
        await sandbox.write_file("folder/file.txt", b"x")
        for path in ("none.txt", "folder"):
            with pytest.raises(SandboxError):
                await sandbox.read_file(path)
        with pytest.raises(SandboxError):
            await sandbox.write_file("folder", b"x")
        for path in ("none", "folder/file.txt"):
            with pytest.raises(SandboxError):
                await sandbox.list_dir(path)
