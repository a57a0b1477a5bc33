"""Feishu's own SDK, for tests alone: importing it takes seconds and leaves an event loop open."""

from __future__ import annotations

import asyncio

import lark_oapi as lark
from lark_oapi.core.token.manager import TokenManager
from lark_oapi.core.utils.decryptor import AESCipher
from lark_oapi.ws import client as _ws_client
from lark_oapi.ws.pb.pbbp2_pb2 import Frame as SdkFrame

_ws_client.loop.close()
asyncio.set_event_loop(None)

__all__ = ["AESCipher", "SdkFrame", "TokenManager", "lark"]
