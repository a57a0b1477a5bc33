"""The adapter loads few modules of the SDK, which stays usable as a whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.harness.warning_filters import list_filters

pytestmark = pytest.mark.may_block

PARTS = """
import logging, sys
import psutil
import bot.platforms.feishu.adapter, bot.platforms.http
before = psutil.Process().memory_info().rss
import bot.platforms.feishu.sdk as sdk
grown = psutil.Process().memory_info().rss - before
import bot.platforms.feishu.session
assert not hasattr(sys.modules["lark_oapi"], "_probed")
loaded = [name for name in sys.modules if name.partition(".")[0] == "lark_oapi"]
assert 50 < len(loaded) < 200, loaded
assert grown < 10 * 1024**2, grown
assert not {"requests", "websockets", "pkg_resources", "lark_oapi.core.log"} & set(sys.modules)
assert not logging.getLogger("Lark").handlers
assert all(hasattr(sdk, name) for name in sdk.__all__)
"""
WHOLE = """
import sys
import bot.platforms.feishu.sdk as sdk
import lark_oapi
assert len([name for name in sys.modules if name.startswith("lark_oapi")]) < 200
from lark_oapi.core.model import Config
from lark_oapi.api.im.v1 import *
from lark_oapi import *
assert CreatePinRequest and Client is lark_oapi.Client and Config.__module__ == "lark_oapi.core.model.config"
assert lark_oapi.im.v1.CreateMessageRequest is sdk.CreateMessageRequest
assert lark_oapi.BaseRequest is sdk.BaseRequest
import lark_oapi.channel
try:
    lark_oapi.Nothing
except AttributeError as error:
    assert "Nothing" in str(error)
else:
    raise AssertionError
"""


@pytest.mark.parametrize("code", [PARTS, pytest.param(WHOLE, marks=pytest.mark.long)], ids=["parts", "whole"])
def test_the_sdk_is_loaded_as_far_as_it_is_used(code: str) -> None:
    command = [sys.executable, *(f"-W{one}" for one in list_filters()), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_missing_sdk_is_named() -> None:
    code = """
import sys
sys.modules["lark_oapi"] = None
from bot.app.accounts import load_factory, load_manifest
from bot.errors import StartError
try:
    load_factory(load_manifest("feishu"))
except StartError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Feishu / Lark needs the package lark_oapi. Install it")
