"""The scopes of the emulated app: which one each method and each event requires.

Sources: "Required scopes" on the page of each method (open.feishu.cn, im-v1, cardkit-v1, contact-v3). Any one
of the scopes of a method is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from roebot_testing.emulators.feishu.errors import FeishuApiError

GROUP_MESSAGES = "im:message.group_msg"
"""Read and receive every message of groups (im-v1 message/get, message/list, message/events/receive)."""
GROUP_MENTIONS = "im:message.group_at_msg:readonly"
PRIVATE_MESSAGES = "im:message.p2p_msg:readonly"
PERSON_NAME = "contact:user.base:readonly"
PERSON_DEPARTMENTS = "contact:user.department:readonly"

_SEND = ("im:message", "im:message:send_as_bot", "im:message:send")
_CHANGE = ("im:message", "im:message:send_as_bot", "im:message:update")
_READ = ("im:message", "im:message:readonly", "im:message.history:readonly")
_UPLOAD = ("im:resource", "im:resource:upload")
_REACT = ("im:message", "im:message.reactions:write_only")
_CARD = ("cardkit:card:write",)
_CONTACTS = (
    "contact:contact.base:readonly",
    "contact:contact:access_as_app",
    "contact:contact:readonly",
    "contact:contact:readonly_as_app",
)
METHODS: Mapping[str, tuple[str, ...]] = {
    "bot.info": (),
    "chat.get": ("im:chat", "im:chat:read", "im:chat:readonly"),
    "user.find_by_department": (*_CONTACTS, "contact:department.organize:readonly"),
    "user.get": _CONTACTS,
    "message.create": _SEND,
    "message.reply": _SEND,
    "message.patch": _CHANGE,
    "message.update": _CHANGE,
    "message.delete": ("im:message", "im:message:recall", "im:message:send_as_bot"),
    "reaction.create": _REACT,
    "reaction.delete": _REACT,
    "message.list": _READ,
    "message.get": ("im:message", "im:message:readonly"),
    "resource.get": _READ,
    "image.create": _UPLOAD,
    "file.create": _UPLOAD,
    "card.create": _CARD,
    "card.id_convert": ("cardkit:card:read",),
    "card.update": _CARD,
    "card.settings": _CARD,
    "element.update": _CARD,
    "element.content": _CARD,
    "card.delayed_update": _CHANGE,
}
"""Scopes of which a method requires one, by the names of `routes.ROUTES`; none: a token is enough."""

GRANTED = frozenset(
    {
        "im:message:send_as_bot",
        PRIVATE_MESSAGES,
        GROUP_MENTIONS,
        GROUP_MESSAGES,
        "im:message:readonly",
        "im:message:recall",
        "im:message.reactions:write_only",
        "im:resource",
        "cardkit:card:read",
        "cardkit:card:write",
        "contact:contact.base:readonly",
        PERSON_NAME,
        PERSON_DEPARTMENTS,
        "im:chat:readonly",
    }
)
"""Scopes that the app has at the start: all that the setup steps of the Feishu adapter name."""


def check_scopes(granted: Set[str], method: str) -> None:
    """Check that the app may call a method. Raises FeishuApiError (99991672)."""
    wanted = METHODS[method]
    if wanted and granted.isdisjoint(wanted):
        raise access_denied(wanted)


def access_denied(wanted: tuple[str, ...]) -> FeishuApiError:
    """The app has none of the scopes: the text names them, as the answers in the issues of
    m1heng/clawdbot-feishu (149) and modelzen/feishu-codex-bridge (9) do.
    """
    names, query = ", ".join(wanted), ",".join(wanted)
    msg = (
        f"Access denied. One of the following scopes is required: [{names}]."
        f"应用尚未开通所需的应用身份权限：[{names}]，点击链接申请并开通任一权限即可："
        f"https://open.feishu.cn/app/cli_emulated/auth?q={query}&op_from=openapi&token_type=tenant"
    )
    violations: list[Any] = [{"subject": one} for one in wanted]
    return FeishuApiError(400, 99991672, msg, details={"permission_violations": violations})
