"""The scope of an approval: exactly one call, with its arguments and working directory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def working_directory(state: Any) -> str:
    """Return the folder where the thread's commands start, or "" for a thread without folders."""
    data = state.get("thread_data") if isinstance(state, Mapping) else None
    return str(data.get("workspace_path") or "") if isinstance(data, Mapping) else ""


def identify_call(tool: str, args: Any, directory: str) -> str:
    """Return the identity of a call, which is equal only for the same tool, arguments and directory."""
    said = json.dumps([tool, args, directory], sort_keys=True, ensure_ascii=True, default=repr)
    return hashlib.sha256(said.encode()).hexdigest()


def is_covered(answer: Any, identity: str) -> bool:
    """Return whether the answer to an approval refers to this call.

    An answer that names a call (`covers`) must name this one. A plain text is the answer of a program that
    has just read the interrupt.
    """
    return not isinstance(answer, Mapping) or answer.get("covers", identity) == identity
