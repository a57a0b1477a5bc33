"""Run identity: the fields of `configurable` or context that specify the person a run works for.

Only the bot may set them. A runtime with a signing key refuses them in requests that the bot did not sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

CHAT_FACTS: Final = "chat_facts"
"""Key in a run's `configurable` that describes its chat to the model, as `agent.core.chat_facts` reads it."""
IDENTITY_FIELDS: Final = frozenset(
    {
        *("user_id", "roles", "approved", "denied_tools", "allowed_skills", "account", "platform"),
        *("chat", "chat_kind", "turn_id", CHAT_FACTS),
    }
)
ENGINE_PREFIX: Final = "__"
"""Prefix of LangGraph's own keys, such as the one that answers interrupts; no client may set them."""
SENDER: Final = "sender"
"""Key in a message's `additional_kwargs` that holds its author, as `platform:id`."""
REQUESTED_SKILL: Final = "requested_skill"
"""Key in a message's `additional_kwargs` that holds the path of the skill that it asks for."""
NOTE_SOURCE: Final = "lc_source"
"""Key in a human message's `additional_kwargs` that names its writer; no person wrote such a message."""
SHOWN_SKILL: Final = "shown_skill"
"""Key in a message's `additional_kwargs` that holds the text of that skill as it was shown."""
_SERVICE_KEYS: Final = (SENDER, REQUESTED_SKILL, SHOWN_SKILL)
SCHEDULED: Final = "scheduled"
"""Key in a message's `additional_kwargs` that is true for the text of a schedule."""
JOINED: Final = "joined"
"""Key in a message's `additional_kwargs` that is true for one that joined a run on earlier messages."""
PRESENTED_FILES: Final = "presented_files"
"""Key in the `artifact` of a tool's result that lists the files which the call presented."""
STEERING: Final = "steer"
"""First label of the store namespaces, with a thread's id, of messages that wait to join a run."""
MAX_DEPTH = 64


def without_identity(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `configurable` or context without identity fields and LangGraph's own fields."""
    return {name: value for name, value in source.items() if not _is_reserved(name)}


def has_identity(sources: Iterable[object]) -> bool:
    """Return whether a `configurable` or context has identity fields or LangGraph's own fields."""
    return any(isinstance(one, Mapping) and any(map(_is_reserved, one)) for one in sources)


def _is_reserved(name: object) -> bool:
    return name in IDENTITY_FIELDS or str(name).startswith(ENGINE_PREFIX)


def names_author(value: object, depth: int = 0) -> bool:
    """Return whether a message in an input or state has one of the bot's keys, such as its author.

    A value that is nested deeper than MAX_DEPTH counts as such a message, since it is not searched.
    """
    if not isinstance(value, Mapping | list):
        return False
    if depth == MAX_DEPTH:
        return True
    if isinstance(value, list):
        return any(names_author(one, depth + 1) for one in value)
    kwargs = value.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and any(key in kwargs for key in _SERVICE_KEYS):
        return True
    return any(names_author(one, depth + 1) for one in value.values())


def without_authors(value: Any) -> Any:
    """Return an input or state whose messages have none of the bot's keys, such as author or requested
    skill.
    """
    if isinstance(value, list):
        return [without_authors(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    kept = {name: without_authors(one) for name, one in value.items()}
    kwargs = kept.get("additional_kwargs")
    if isinstance(kwargs, dict):
        for key in _SERVICE_KEYS:
            kwargs.pop(key, None)
    return kept
