"""The used parts of lark-oapi, loaded without the rest of the package.

Each package of the SDK imports all that is below it: `import lark_oapi` takes 3 s of CPU time and 140 MB. So
the packages are entered in `sys.modules` before their `__init__` runs, and only the modules named here are
loaded (0.2 s, 5 MB). A package that is asked for any other name runs its `__init__` then, at the full cost.
The module paths are those of lark-oapi 1.7, to which the dependency is pinned.

Importing this module blocks for as long as it takes, so the adapter does it in a thread.
"""
# ruff: noqa: E402  the packages have to be entered before anything is imported from them

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

_PACKAGES = (
    "lark_oapi",
    "lark_oapi.api",
    *(f"lark_oapi.api.im{part}" for part in ("", ".v1", ".v1.model")),
    *(f"lark_oapi.api.cardkit{part}" for part in ("", ".v1", ".v1.model")),
    *(f"lark_oapi.api.contact{part}" for part in ("", ".v3", ".v3.model")),
    *(f"lark_oapi.core{part}" for part in ("", ".model", ".utils")),
    *(f"lark_oapi.ws{part}" for part in ("", ".pb.google")),
)
"""Packages whose `__init__` does not run, each after the one that contains it."""
_OWN_NAMES = {
    "lark_oapi.core": ("enum", ("AccessTokenType", "HttpMethod")),
    "lark_oapi.core.model": ("base_request", ("BaseRequest",)),
}
"""Names that the SDK's modules import from a package, and the module of the package that defines them."""


class _LazyPackage(ModuleType):
    """A package that runs its `__init__` when a missing name is requested."""

    def __getattr__(self, name: str) -> Any:
        # Tools probe modules for private names, none of which the SDK's packages define.
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _run_init(self)
        return getattr(self, name)


def _run_init(package: ModuleType | None) -> None:
    """Run the `__init__` of a package after those of its parents, like an import."""
    if not isinstance(package, _LazyPackage):
        return
    _run_init(sys.modules.get(package.__name__.rpartition(".")[0]))
    if isinstance(package, _LazyPackage) and package.__spec__ is not None:
        package.__class__ = ModuleType  # type: ignore[assignment]
        assert package.__spec__.loader is not None
        package.__spec__.loader.exec_module(package)


def _enter_package(name: str) -> None:
    """Enter a package in `sys.modules`. Raises ModuleNotFoundError."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    package = _LazyPackage(name)
    package.__spec__, package.__loader__, package.__package__ = spec, spec.loader, name
    package.__file__, package.__path__ = spec.origin, spec.submodule_search_locations or []
    sys.modules[name] = package
    parent, _, leaf = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], leaf, package)


def _enter_packages() -> None:
    for package in _PACKAGES:
        if package not in sys.modules:
            _enter_package(package)
    for package, (module, names) in _OWN_NAMES.items():
        defining = importlib.import_module(f"{package}.{module}")
        for name in names:
            setattr(sys.modules[package], name, getattr(defining, name))


_enter_packages()

import lark_oapi.ws.const as ws_const
from lark_oapi.api.cardkit.v1.model.card import Card
from lark_oapi.api.cardkit.v1.model.content_card_element_request import ContentCardElementRequest
from lark_oapi.api.cardkit.v1.model.content_card_element_request_body import ContentCardElementRequestBody
from lark_oapi.api.cardkit.v1.model.create_card_request import CreateCardRequest
from lark_oapi.api.cardkit.v1.model.create_card_request_body import CreateCardRequestBody
from lark_oapi.api.cardkit.v1.model.id_convert_card_request import IdConvertCardRequest
from lark_oapi.api.cardkit.v1.model.id_convert_card_request_body import IdConvertCardRequestBody
from lark_oapi.api.cardkit.v1.model.settings_card_request import SettingsCardRequest
from lark_oapi.api.cardkit.v1.model.settings_card_request_body import SettingsCardRequestBody
from lark_oapi.api.cardkit.v1.model.update_card_element_request import UpdateCardElementRequest
from lark_oapi.api.cardkit.v1.model.update_card_element_request_body import UpdateCardElementRequestBody
from lark_oapi.api.cardkit.v1.model.update_card_request import UpdateCardRequest
from lark_oapi.api.cardkit.v1.model.update_card_request_body import UpdateCardRequestBody
from lark_oapi.api.contact.v3.model.find_by_department_user_request import FindByDepartmentUserRequest
from lark_oapi.api.contact.v3.model.get_user_request import GetUserRequest
from lark_oapi.api.im.v1.model.create_file_request import CreateFileRequest
from lark_oapi.api.im.v1.model.create_file_request_body import CreateFileRequestBody
from lark_oapi.api.im.v1.model.create_image_request import CreateImageRequest
from lark_oapi.api.im.v1.model.create_image_request_body import CreateImageRequestBody
from lark_oapi.api.im.v1.model.create_message_reaction_request import CreateMessageReactionRequest
from lark_oapi.api.im.v1.model.create_message_reaction_request_body import CreateMessageReactionRequestBody
from lark_oapi.api.im.v1.model.create_message_request import CreateMessageRequest
from lark_oapi.api.im.v1.model.create_message_request_body import CreateMessageRequestBody
from lark_oapi.api.im.v1.model.delete_message_reaction_request import DeleteMessageReactionRequest
from lark_oapi.api.im.v1.model.delete_message_request import DeleteMessageRequest
from lark_oapi.api.im.v1.model.emoji import Emoji
from lark_oapi.api.im.v1.model.get_chat_request import GetChatRequest
from lark_oapi.api.im.v1.model.get_message_request import GetMessageRequest
from lark_oapi.api.im.v1.model.get_message_resource_request import GetMessageResourceRequest
from lark_oapi.api.im.v1.model.list_message_request import ListMessageRequest
from lark_oapi.api.im.v1.model.patch_message_request import PatchMessageRequest
from lark_oapi.api.im.v1.model.patch_message_request_body import PatchMessageRequestBody
from lark_oapi.api.im.v1.model.reply_message_request import ReplyMessageRequest
from lark_oapi.api.im.v1.model.reply_message_request_body import ReplyMessageRequestBody
from lark_oapi.core.const import FEISHU_DOMAIN, LARK_DOMAIN
from lark_oapi.core.enum import HttpMethod
from lark_oapi.core.model.base_request import BaseRequest
from lark_oapi.core.utils.decryptor import AESCipher
from lark_oapi.ws.enum import FrameType, MessageType
from lark_oapi.ws.pb.google.protobuf.message import DecodeError
from lark_oapi.ws.pb.pbbp2_pb2 import Frame


def load_registration() -> ModuleType:
    """Load the module that creates apps. Only the setup uses it, because it imports `requests`."""
    return importlib.import_module("lark_oapi.scene.registration")


__all__ = [
    "FEISHU_DOMAIN",
    "LARK_DOMAIN",
    "AESCipher",
    "BaseRequest",
    "Card",
    "ContentCardElementRequest",
    "ContentCardElementRequestBody",
    "CreateCardRequest",
    "CreateCardRequestBody",
    "CreateFileRequest",
    "CreateFileRequestBody",
    "CreateImageRequest",
    "CreateImageRequestBody",
    "CreateMessageReactionRequest",
    "CreateMessageReactionRequestBody",
    "CreateMessageRequest",
    "CreateMessageRequestBody",
    "DecodeError",
    "DeleteMessageReactionRequest",
    "DeleteMessageRequest",
    "Emoji",
    "FindByDepartmentUserRequest",
    "Frame",
    "FrameType",
    "GetChatRequest",
    "GetMessageRequest",
    "GetMessageResourceRequest",
    "GetUserRequest",
    "HttpMethod",
    "IdConvertCardRequest",
    "IdConvertCardRequestBody",
    "ListMessageRequest",
    "MessageType",
    "PatchMessageRequest",
    "PatchMessageRequestBody",
    "ReplyMessageRequest",
    "ReplyMessageRequestBody",
    "SettingsCardRequest",
    "SettingsCardRequestBody",
    "UpdateCardElementRequest",
    "UpdateCardElementRequestBody",
    "UpdateCardRequest",
    "UpdateCardRequestBody",
    "load_registration",
    "ws_const",
]
