"""Group events: people who joined or left, and name changes.

Events: open.feishu.cn, im-v1 chat.member.user added, deleted and withdrawn, and chat updated.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.platforms.payload import Json, get_object, get_objects, get_string

ADDED, LEFT = "im.chat.member.user.added_v1", "im.chat.member.user.deleted_v1"
RENAMED = "im.chat.updated_v1"
MAX_PEOPLE = 20


def read_notice(kind: str, event: Json, actor: str) -> str:
    """Return an event as a sentence without its subject, or "" for an event without effect. `actor` is the
    open id of the acting person. Raises Malformed.
    """
    read = _KINDS.get(kind)
    return read(event, actor) if read is not None else ""


def _read_added(event: Json, actor: str) -> str:
    names = _other_names(event, actor)
    return f"added {names} to the group" if names else "joined the group"


def _read_left(event: Json, actor: str) -> str:
    names = _other_names(event, actor)
    return f"removed {names} from the group" if names else "left the group"


def _read_renamed(event: Json, actor: str) -> str:
    del actor
    name = get_string(get_object(event, "after_change"), "name")
    return f'renamed the group to "{name}"' if name else ""


def _other_names(event: Json, actor: str) -> str:
    """Return the names of people in an event other than the acting person."""
    people = [
        one
        for one in get_objects(event, "users")
        if get_string(get_object(one, "user_id"), "open_id") != actor
    ]
    names = [get_string(one, "name") or "somebody" for one in people[:MAX_PEOPLE]]
    more = [f"{len(people) - MAX_PEOPLE} more"] if len(people) > MAX_PEOPLE else []
    return ", ".join([*names, *more])


_KINDS: dict[str, Callable[[Json, str], str]] = {
    ADDED: _read_added,
    LEFT: _read_left,
    RENAMED: _read_renamed,
}
