"""Feishu's own SDK as a whole, for tests alone: importing it takes seconds and leaves an event loop open."""

from __future__ import annotations

import asyncio

import lark_oapi as lark

# The adapter may have entered the packages without their content; this loads it, in the order of an import.
assert lark.Client
from lark_oapi.core.token.manager import TokenManager  # noqa: E402
from lark_oapi.ws import client as _ws_client  # noqa: E402

_ws_client.loop.close()
asyncio.set_event_loop(None)

__all__ = ["TokenManager", "lark"]
