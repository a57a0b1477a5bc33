"""Looks up people's user groups, which access rules may name."""

from __future__ import annotations

import asyncio

import structlog

from bot.clock import Clock
from bot.platforms.payload import Json, Malformed, get_objects, get_string, get_strings
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.errors import CALL_ERRORS

log = structlog.get_logger(__name__)

SCOPE = "usergroups:read"
ASK_SECONDS = 1.5
"""Slack waits 3 s for the acknowledgement of an event."""
KNOWN_SECONDS = 600.0
RETRY_SECONDS = 60.0
"""Seconds without lookups after a refusal."""


class UserGroups:
    """The user groups of one workspace, asked for again every ten minutes (`usergroups.list`, tier 2).

    `granted`: without its scope nobody is in any.
    """

    def __init__(self, client: SlackClient, clock: Clock, *, granted: bool) -> None:
        self._client = client
        self._clock = clock
        self._granted = granted
        self._members: dict[str, tuple[str, ...]] = {}
        self._next = 0.0
        self._asking = asyncio.Lock()

    async def find_groups(self, user: str) -> tuple[str, ...]:
        """The ids of the groups that somebody is in, as far as Slack tells."""
        if self._granted and self._clock.now() >= self._next:
            async with self._asking:
                if self._clock.now() >= self._next:
                    await self._reload()
        return self._members.get(user, ())

    async def _reload(self) -> None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.web.usergroups_list(include_users=True)
            self._members = read_memberships(answer.data if isinstance(answer.data, dict) else {})
            self._next = self._clock.now() + KNOWN_SECONDS
        except (*CALL_ERRORS, Malformed) as error:
            log.info("slack.usergroups_unknown", reason=type(error).__name__)
            self._next = self._clock.now() + RETRY_SECONDS


def read_memberships(answer: Json) -> dict[str, tuple[str, ...]]:
    """The groups of each person, as an answer to `usergroups.list` tells them."""
    found: dict[str, tuple[str, ...]] = {}
    for group in get_objects(answer, "usergroups"):
        if group.get("date_delete"):
            continue
        for user in get_strings(group, "users"):
            found[user] = (*found.get(user, ()), get_string(group, "id"))
    return found
