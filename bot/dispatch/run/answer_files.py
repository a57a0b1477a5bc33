"""Files linked in an answer: their paths are removed from the text, and existing files become attachments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.dispatch.run.transcript import Draft
from bot.errors import RunMissing, RuntimeRefused, RuntimeUnreachable
from bot.render.thread_paths import ThreadPaths
from bot.runtime.interface import AgentRuntime

TOO_LARGE = 413
"""Status of a file that is larger than the limit of the request, which may be 0."""


@dataclass(slots=True)
class AnswerPaths:
    """Removes file paths from a run's growing text."""

    _text: ThreadPaths = field(default_factory=ThreadPaths)
    _settled: ThreadPaths = field(default_factory=ThreadPaths)

    def clean_draft(self, draft: Draft) -> Draft:
        """Return a draft without paths, holding back the end of its text while it may become a path."""
        text = self._text.clean(draft.text, growing=True)
        settled = self._settled.clean(draft.settled)
        remark = ThreadPaths().clean(draft.remark) if draft.remark else ""
        return replace(draft, text=text, settled=settled if text.startswith(settled) else text, remark=remark)


async def attach_linked_files(
    runtime: AgentRuntime, thread_id: str, text: str, presented: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the final text without paths, and the artifacts: the presented files, then the linked ones.

    A file that does not exist is left as its name.
    """
    paths = ThreadPaths()
    clean = paths.clean(text)
    linked = [path for path in paths.files if path not in presented]
    found = await asyncio.gather(*(_exists(runtime, thread_id, path) for path in linked))
    missing = frozenset(path for path, is_there in zip(linked, found, strict=True) if not is_there)
    if missing:
        clean = ThreadPaths(missing).clean(text)
    return clean, (*presented, *(path for path in linked if path not in missing))


async def _exists(runtime: AgentRuntime, thread_id: str, path: str) -> bool:
    """Return whether a file is readable. If the runtime does not respond, assume that it is; delivery will
    report a missing file.
    """
    try:
        await runtime.read_artifact(thread_id, path, 0)
    except RuntimeUnreachable:
        return True
    except RuntimeRefused as problem:
        return problem.status == TOO_LARGE
    except RunMissing:
        return False
    return True
