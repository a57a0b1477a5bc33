"""A system message in two parts: shared by all conversations, and specific to this one.

Providers cache the beginning of a request, so the shared part comes first, whatever the order in which
middleware adds to either.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import SystemMessage

SHARED = "shared_characters"
"""Key in a system message's `additional_kwargs`: the length of its shared part; without it, all of it."""


def add_shared(system: SystemMessage | None, text: str) -> SystemMessage:
    """Append a paragraph to the shared part of the message."""
    if system is None:
        return SystemMessage(text)
    shared, own = split_system(system)
    if not own:
        return _append(system, text)
    shared = f"{shared}\n\n{text}" if shared else text
    own = own if own.startswith("\n") else f"\n\n{own}"
    return _replace(system, shared + own, len(shared))


def add_own(system: SystemMessage | None, text: str) -> SystemMessage:
    """Append a paragraph to the message's conversation-specific part."""
    if system is None:
        return SystemMessage(text, additional_kwargs={SHARED: 0})
    if not isinstance(system.content, str):
        return _append(system, text)
    length = system.additional_kwargs.get(SHARED, len(system.content))
    return _replace(system, f"{system.content}\n\n{text}", length)


def split_system(system: SystemMessage) -> tuple[str, str]:
    """Return the shared part and the conversation-specific part, each "" if missing.

    Content in blocks, which only middleware of others makes, has no parts: both are "".
    """
    content = system.content
    if not isinstance(content, str):
        return "", ""
    length = system.additional_kwargs.get(SHARED, len(content))
    return content[:length], content[length:]


def _append(system: SystemMessage, text: str) -> SystemMessage:
    if isinstance(system.content, str):
        content: Any = f"{system.content}\n\n{text}" if system.content else text
    else:
        content = [*system.content, {"type": "text", "text": f"\n\n{text}"}]
    return system.model_copy(update={"content": content})


def _replace(system: SystemMessage, content: str, shared: int) -> SystemMessage:
    kwargs = {**system.additional_kwargs, SHARED: shared}
    return system.model_copy(update={"content": content, "additional_kwargs": kwargs})
