"""Tests for every upload store."""

from __future__ import annotations

import pytest

from agent.core.interfaces import ThreadFileStore
from agent.errors import BadIdentifier


@pytest.mark.asyncio
class UploadSuite:
    """Subclasses provide a fixture `store`, new for each test, and implement `put`."""

    @pytest.fixture
    def store(self) -> ThreadFileStore:
        """The store to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named store")

    async def put(self, store: ThreadFileStore, thread_id: str, filename: str, content: bytes) -> None:
        """Upload a file. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs to know how a file is uploaded")

    async def test_files_are_listed_by_name(self, store: ThreadFileStore) -> None:
        """With size, type and the path that the agent sees."""
        await self.put(store, "t-1", "b.png", b"12345")
        await self.put(store, "t-1", "a.txt", b"1")
        first, second = await store.list_uploads("t-1")
        assert (first.filename, first.size, first.mime_type) == ("a.txt", 1, "text/plain")
        assert (second.path, second.size) == ("/mnt/user-data/uploads/b.png", 5)

    async def test_a_file_is_read_up_to_a_limit(self, store: ThreadFileStore) -> None:
        """A larger or missing file reads as None."""
        await self.put(store, "t-1", "a.txt", b"12345")
        assert await store.read("t-1", "a.txt", limit=5) == b"12345"
        assert await store.read("t-1", "a.txt", limit=4) is None
        assert await store.read("t-1", "none.txt", limit=5) is None

    async def test_markdown_is_told_with_its_document(self, store: ThreadFileStore) -> None:
        """It is read by its own name, and is no upload."""
        await self.put(store, "t-1", "a.csv", b"name,count\nAda,1\n")
        [upload] = await store.list_uploads("t-1")
        assert upload.markdown is not None
        assert upload.markdown.path == "/mnt/user-data/uploads/a.md"
        text = await store.read("t-1", "a.md", limit=1_000)
        assert text is not None
        assert text.startswith(b"| name | count |\n| --- | --- |\n| Ada | 1 |\n")
        assert (upload.markdown.size, upload.markdown.lines) == (len(text), text.count(b"\n"))

    async def test_a_document_that_can_not_be_read_says_why(self, store: ThreadFileStore) -> None:
        """It is an upload all the same."""
        await self.put(store, "t-1", "a.pdf", b"no PDF")
        [upload] = await store.list_uploads("t-1")
        assert upload.filename == "a.pdf"
        assert upload.markdown is not None
        assert upload.markdown.path is None
        assert upload.markdown.note

    async def test_threads_are_apart(self, store: ThreadFileStore) -> None:
        """Files and folders."""
        await self.put(store, "t-1", "a.txt", b"1")
        assert list(await store.list_uploads("t-2")) == []
        assert await store.read("t-2", "a.txt", limit=9) is None
        assert store.folders("t-1")["uploads_path"] != store.folders("t-2")["uploads_path"]

    async def test_a_thread_has_three_folders(self, store: ThreadFileStore) -> None:
        """Always the same ones."""
        folders = store.folders("t-1")
        assert set(folders) == {"workspace_path", "uploads_path", "outputs_path"}
        assert len(set(folders.values())) == 3
        assert store.folders("t-1") == folders

    @pytest.mark.parametrize("thread_id", ["", "..", "a/b", "a.b"])
    async def test_ids_that_no_thread_has(self, store: ThreadFileStore, thread_id: str) -> None:
        """Are refused before anything is touched."""
        with pytest.raises(BadIdentifier):
            await store.list_uploads(thread_id)
        with pytest.raises(BadIdentifier):
            await store.read(thread_id, "a.txt", limit=9)
        with pytest.raises(BadIdentifier):
            store.folders(thread_id)
