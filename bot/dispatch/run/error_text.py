"""What people are shown of a failure that nobody wrote for them."""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_ERROR_CHARACTERS = 500
"""Characters."""
# A path of the machine tells strangers how it is built; the virtual ones below /mnt are the agent's own.
_PART = r"[^\s/'\":,;()<>\[\]]+"
_PATH = re.compile(rf"(?<![\w/:.…])/(?!mnt/)(?:{_PART}/)+({_PART})")


def public_message(message: str, mask: Callable[[str], str]) -> str:
    """The message without secrets and without the folders of paths, cut to what a chat takes."""
    return _PATH.sub(r"…/\1", mask(message))[:MAX_ERROR_CHARACTERS]
