"""Credentials and tokens, and the methods about the bot and people."""

from __future__ import annotations

import hmac
from typing import Any

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.errors import bad_secret
from roebot_testing.emulators.feishu.scopes import PERSON_DEPARTMENTS, PERSON_NAME
from roebot_testing.emulators.feishu.state import GROUP, FeishuUser
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

TOKEN_SECONDS = 7200
MOST_MEMBERS = 50
"""Maximum page size (contact-v3 user/find_by_department)."""


class Credentials:
    """Id and secret of the app, and the tokens issued for them."""

    def __init__(self, app_id: str, app_secret: str) -> None:
        self.app_id = app_id
        self.app_secret = app_secret
        self.revoked = False
        self._tokens: set[str] = set()

    def matches(self, app_id: object, app_secret: object) -> bool:
        """Return whether id and secret are the app's."""
        given = f"{app_id}\0{app_secret}".encode()
        wanted = f"{self.app_id}\0{self.app_secret}".encode()
        return not self.revoked and hmac.compare_digest(given, wanted)

    def issue(self, world: FeishuWorkspace, call: FeishuCall) -> dict[str, Any]:
        """`auth/v3/tenant_access_token/internal`; the answer has no `data`."""
        if not self.matches(call.body.get("app_id"), call.body.get("app_secret")):
            raise bad_secret()
        token = world.new_id("t-emulated")
        self._tokens.add(token)
        return {"code": 0, "msg": "ok", "tenant_access_token": token, "expire": TOKEN_SECONDS}

    def knows(self, token: str) -> bool:
        """Return whether a token is valid."""
        return not self.revoked and token in self._tokens

    def expire(self) -> None:
        """Expire every issued token."""
        self._tokens.clear()


def bot_info(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`bot/v3/info`; the answer's key is `bot`."""
    del call
    return CallResult(
        {"activate_status": 2, "app_name": world.bot.name, "open_id": world.bot.open_id, "ip_white_list": []}
    )


def user(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`contact/v3/users/:id`: name and departments are fields with scopes of their own."""
    found = world.people.get(call.args[0])
    if found is None:
        raise rules.PERSON_HIDDEN.refusal()
    return CallResult({"user": _describe(world, found)})


def members(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`contact/v3/users/find_by_department`: a page of the people directly in a department."""
    query = call.query
    size, start = query.get("page_size") or "10", query.get("page_token") or "0"
    if not size.isdecimal() or not 1 <= int(size) <= MOST_MEMBERS:
        raise rules.MEMBERS_PAGE.refusal()
    if not start.isdecimal():
        raise rules.MEMBERS_TOKEN.refusal()
    wanted = query.get("department_id", "")
    found = [one for one in world.people.values() if wanted in one.departments]
    if not found or query.get("department_id_type", "open_department_id") != "open_department_id":
        raise rules.DEPARTMENT_HIDDEN.refusal()
    end = int(start) + int(size)
    data: dict[str, Any] = {"has_more": end < len(found)}
    data["items"] = [_describe(world, one) for one in found[int(start) : end]]
    return CallResult(data | ({"page_token": str(end)} if data["has_more"] else {}))


def _describe(world: FeishuWorkspace, person: FeishuUser) -> dict[str, object]:
    fields: dict[str, object] = {"open_id": person.open_id}
    if PERSON_NAME in world.scopes:
        fields["name"] = person.name
    if PERSON_DEPARTMENTS in world.scopes and person.departments:
        fields["department_ids"] = person.departments
    return fields


def chat(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`im/v1/chats/:id` of a group; the number of people is text."""
    found = world.chats.get(call.args[0])
    if found is None or found.kind != GROUP:
        raise rules.CHAT_UNKNOWN.refusal()
    if found.barrier is rules.NOT_IN_GROUP:
        raise rules.CHAT_OUTSIDE.refusal()
    return CallResult({"name": found.title, "chat_type": "private", "user_count": str(len(world.people))})
