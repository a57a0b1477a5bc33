"""Parsing of imprecise to-do lists by models, with exactly one item in progress."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from agent.core.loose_json import opens_container, parse_loose_json, split_items
from agent.core.state import TodoItem

log = structlog.get_logger(__name__)
PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"
_STATUSES: Mapping[str, str] = {
    **dict.fromkeys(("pending", "todo", "notstarted", "open", "waiting", "blocked", "failed"), PENDING),
    **dict.fromkeys(
        ("inprogress", "doing", "active", "started", "running", "current", "working"), IN_PROGRESS
    ),
    **dict.fromkeys(("completed", "complete", "done", "finished", "closed", "success"), COMPLETED),
    **dict.fromkeys(("待办", "待处理", "未开始"), PENDING),
    **dict.fromkeys(("进行中", "正在进行"), IN_PROGRESS),
    **dict.fromkeys(("已完成", "完成"), COMPLETED),
}
"""A failed step is not done, so it is pending; providers report such words (anomalyco/opencode#1354)."""
_DROPPED = frozenset({"cancelled", "canceled", "removed", "deleted", "skipped"})
_CONTENT = ("content", "task", "title", "text", "description", "name", "step", "todo", "item")
_FLAGS = ("completed", "done", "checked", "finished")
_LISTS = ("todos", "items", "tasks", "list", "todolist")
_BOX = re.compile(r"\s*(?:[-*•]\s+)?\[([ xX✓~>-]?)\]\s*(.+)")
_BOXES = {"x": COMPLETED, "✓": COMPLETED, "~": IN_PROGRESS, ">": IN_PROGRESS, "-": IN_PROGRESS}
TOO_MANY = "Only one item can be in_progress, so the others were set to pending."
NONE_IN_PROGRESS = 'One item must be in_progress while work remains, so "{content}" was set to in_progress.'


def read_items(value: Any) -> list[Any]:
    """Return a list's entries as items with content and status, skipping entries without a text.

    Takes lists as JSON or Python text, lines with or without check boxes, plain texts, one item, a mapping of
    tasks to statuses, and other names of the keys. Raises ValueError if nothing of it can be read.
    """
    entries = _find_entries(value)
    items = [_read_item(entry) for entry in entries]
    kept = [item for item in items if item is not None]
    if len(kept) < len(entries):
        log.warning("todo_entries_skipped", skipped=len(entries) - len(kept), kept=len(kept))
    if entries and not kept and not all(_is_dropped(entry) for entry in entries):
        raise ValueError("no entry has any content; write a list of objects with content and status")
    return kept


def ensure_one_in_progress(items: Sequence[TodoItem]) -> tuple[list[TodoItem], str]:
    """Return the items with exactly one in progress while work remains, and a description of the changes ("":
    none).

    Of several the first stays; if there is none, the first pending one starts.
    """
    doing = [at for at, item in enumerate(items) if item["status"] == IN_PROGRESS]
    if len(doing) > 1:
        log.info("todo_list_corrected", in_progress=len(doing))
        return [
            _with_status(item, PENDING) if at in doing[1:] else item for at, item in enumerate(items)
        ], TOO_MANY
    waiting = [at for at, item in enumerate(items) if item["status"] == PENDING]
    if doing or not waiting:
        return list(items), ""
    log.info("todo_list_corrected", in_progress=0)
    first = waiting[0]
    started = [_with_status(item, IN_PROGRESS) if at == first else item for at, item in enumerate(items)]
    return started, NONE_IN_PROGRESS.format(content=items[first]["content"])


def _with_status(item: TodoItem, status: str) -> TodoItem:
    return TodoItem(content=item["content"], status=status)


def _find_entries(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = parse_loose_json(value) if opens_container(value) else value.splitlines()
        except ValueError:
            value = value.splitlines()
    if isinstance(value, Mapping):
        return _entries_of_mapping(value)
    if not isinstance(value, list | tuple):
        raise ValueError("expected a list of objects with content and status")
    return [entry for entry in value if not (isinstance(entry, str) and not entry.strip())]


def _entries_of_mapping(value: Mapping[Any, Any]) -> list[Any]:
    inner = next((one for key, one in value.items() if _plain(key) in _LISTS and isinstance(one, list)), None)
    if inner is not None:
        return inner
    if any(_plain(key) in _CONTENT for key in value):
        return [value]
    if value and all(isinstance(one, str) and _find_status(one) for one in value.values()):
        return [{"content": str(key), "status": one} for key, one in value.items()]
    return list(value.values())


def _read_item(entry: Any) -> TodoItem | None:
    if isinstance(entry, str):
        if box := _BOX.fullmatch(entry):
            return TodoItem(content=box[2].strip(), status=_BOXES.get(box[1].lower(), PENDING))
        texts = split_items(entry)
        return TodoItem(content=" ".join(texts), status=PENDING) if texts else None
    if not isinstance(entry, Mapping) or _is_dropped(entry):
        return None
    known = {_plain(key): one for key, one in entry.items()}
    content = next((known[name] for name in _CONTENT if isinstance(known.get(name), str)), "").strip()
    return TodoItem(content=content, status=_read_status(known)) if content else None


def _read_status(known: Mapping[str, Any]) -> str:
    word = known.get("status", known.get("state"))
    if isinstance(word, str):
        return _find_status(word) or PENDING
    flags = [known[name] for name in _FLAGS if name in known]
    return COMPLETED if any(flag is True or _plain(flag) == "true" for flag in flags) else PENDING


def _find_status(word: str) -> str | None:
    return _STATUSES.get(_plain(word)) or _STATUSES.get(word.strip())


def _is_dropped(entry: Any) -> bool:
    """Return whether the model wrote the item only to remove it."""
    return isinstance(entry, Mapping) and _plain(entry.get("status", "")) in _DROPPED


def _plain(word: Any) -> str:
    return re.sub(r"[^a-z]", "", str(word).lower())
