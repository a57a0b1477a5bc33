"""The agent's task list, with Slack's own tasks, and text, as stream chunks.

A stream is opened, continued and ended in chunks: one that was opened with `markdown_text` takes no tasks any
more, and one call never has both (docs.slack.dev, chat.appendStream: streaming_mode_mismatch and
cannot_provide_both_markdown_text_and_chunks). A task is a place in the list and not a step of the work, so
that the list stays as short as the core keeps it: a task with a known id is changed where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slack_sdk.models.messages.chunk import Chunk, MarkdownTextChunk, TaskUpdateChunk

from agent.shared.text import shorten, to_one_line
from bot.domain import ProgressItem, ProgressState
from bot.render.partial_markdown import close_open

TITLE_LIMIT = 256
"""Characters of a task's title (docs.slack.dev, chat.appendStream)."""
DISPLAY = "plan"
"""All tasks in one block, which is one of the fifty that a message may have, however long the list gets."""
_STATES = {
    ProgressState.PENDING: "pending",
    ProgressState.ACTIVE: "in_progress",
    ProgressState.DONE: "complete",
    ProgressState.FAILED: "error",
}
_ENDS = ".!?:;…。！？：；"
TaskList = tuple[ProgressItem, ...]


def growth_chunks(text: str, before: TaskList = (), after: TaskList = ()) -> list[Chunk]:
    """Build the chunks that append `text` and change the list from one state to another."""
    chunks: list[Chunk] = [MarkdownTextChunk(text=text)] if text else []
    for place, item in enumerate(after):
        if place >= len(before) or _shown_task(before[place]) != _shown_task(item):
            title, status = _shown_task(item)
            chunks.append(TaskUpdateChunk(id=str(place + 1), title=title, status=status))
    return chunks


def merge_tasks(listed: TaskList, wanted: TaskList) -> TaskList | None:
    """Merge `wanted` into the displayed list; None if that would leave tasks open forever.

    A stream removes no task: listed tasks that are no longer wanted have ended.
    """
    beyond = listed[len(wanted) :]
    if any(item.state is ProgressState.PENDING for item in beyond):
        return None
    return (*wanted, *end_tasks(beyond))


def end_tasks(listed: Sequence[ProgressItem]) -> TaskList:
    """Return the list with nothing in progress."""
    return tuple(
        replace(item, state=ProgressState.DONE) if item.state is ProgressState.ACTIVE else item
        for item in listed
    )


def may_follow(text: str) -> bool:
    """Return whether a list may start, which separates the text before and after it."""
    shown = text.rstrip()
    return not shown or (shown[-1] in _ENDS and close_open(shown) == shown)


def _shown_task(item: ProgressItem) -> tuple[str, str]:
    title = to_one_line(item.title) or "…"
    return shorten(title, TITLE_LIMIT), _STATES[item.state]
