"""Texts for Discord's notices in channels: a person joined, pinned a message, ended a call.

Source: docs.discord.com/developers/resources/message#message-object-message-types, whose clients show
similar sentences.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.platforms.discord.names import MessageNames
from bot.platforms.discord.times import format_timestamp
from bot.platforms.payload import Json, get_int, get_object, get_objects, get_string, get_strings

DEFAULT, PINNED, REPLY, COMMAND_USED, THREAD_STARTER, CONTEXT_COMMAND = 0, 6, 19, 20, 21, 23
WRITTEN = frozenset({DEFAULT, REPLY, COMMAND_USED, CONTEXT_COMMAND})
"""Types of messages that somebody wrote; all but THREAD_STARTER and these are notices."""

_PLAIN = {
    5: "changed the group's icon",
    PINNED: "pinned a message",
    7: "joined the server",
    9: "boosted the server, which reached Level 1",
    10: "boosted the server, which reached Level 2",
    11: "boosted the server, which reached Level 3",
    22: "can invite people to the server",
    29: "is now a speaker",
    37: "turned off the security actions",
    38: "reported a raid",
    39: "reported a false alarm about a raid",
}
"""What the author did."""
_WITH_CONTENT = {
    4: "changed the name to: {}",
    12: "subscribed this channel to the announcements of {}",
    18: "started a thread: {}",
    27: "started the stage: {}",
    28: "ended the stage: {}",
    31: "changed the topic of the stage: {}",
}
"""What the author did, with the content of the message."""
_OF_THE_SERVER = {
    14: "The server was removed from Server Discovery.",
    15: "The server is eligible for Server Discovery again.",
    16: "The server has failed the requirements of Server Discovery for a week.",
    17: "The server has failed the requirements of Server Discovery for three weeks.",
}


def read_notice(message: Json, names: MessageNames) -> str:
    """Return a notice as a sentence, or "" for an unknown type. Raises Malformed."""
    kind = get_int(message, "type")
    if kind in _OF_THE_SERVER:
        return _OF_THE_SERVER[kind]
    done = _read_deed(kind, message, names)
    if not done or kind in _WHOLE:
        return done
    return f"{names.name_of(get_object(message, 'author'))} {done}"


def _read_deed(kind: int, message: Json, names: MessageNames) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _WITH_CONTENT:
        return _WITH_CONTENT[kind].format(names.read(get_string(message, "content")))
    read = _READERS.get(kind)
    return read(message, names) if read is not None else ""


def _read_added(message: Json, names: MessageNames) -> str:
    return f"added {_mentioned(message, names)}"


def _read_removed(message: Json, names: MessageNames) -> str:
    author, gone = get_object(message, "author"), get_objects(message, "mentions")
    left = all(user.get("id") == author.get("id") for user in gone)
    return "left" if left else f"removed {_mentioned(message, names)}"


def _mentioned(message: Json, names: MessageNames) -> str:
    return ", ".join(names.name_of(user) for user in get_objects(message, "mentions")) or "somebody"


def _read_call(message: Json, names: MessageNames) -> str:
    call = get_object(message, "call")
    ended = get_string(call, "ended_timestamp")
    people = [names.person(one) for one in get_strings(call, "participants")]
    with_people = f" with {', '.join(filter(None, people))}" if any(people) else ""
    return f"started a call{with_people}" + (f" that ended at {format_timestamp(ended)}" if ended else "")


def _read_boost(message: Json, names: MessageNames) -> str:
    times = get_string(message, "content")
    return f"boosted the server {times} times" if times else "boosted the server"


def _read_subscription(message: Json, names: MessageNames) -> str:
    data = get_object(message, "role_subscription_data")
    told = f"subscribed to {get_string(data, 'tier_name')}, month {get_int(data, 'total_months_subscribed')}"
    return f"{told} (renewed)" if data.get("is_renewal") is True else told


def _read_upgrade(message: Json, names: MessageNames) -> str:
    app = get_string(get_object(message, "application"), "name") or "an app"
    return f"upgraded {app} to premium for this server"


def _read_lockdown(message: Json, names: MessageNames) -> str:
    until = get_string(message, "content")
    return "turned on the security actions" + (f" until {format_timestamp(until)}" if until else "")


def _read_purchase(message: Json, names: MessageNames) -> str:
    bought = get_object(get_object(message, "purchase_notification"), "guild_product_purchase")
    return f"bought {get_string(bought, 'product_name') or 'a product of the server'}"


def _read_poll_result(message: Json, names: MessageNames) -> str:
    """Read the result of the author's poll; a tie has no winner."""
    found = _facts(message)
    won, votes = found.get("victor_answer_text", ""), found.get("victor_answer_votes", "0")
    result = f"{won} won with {votes} of" if won else f"no answer won, the first had {votes} of"
    asked = f"The poll of {names.name_of(get_object(message, 'author'))} ended"
    return f"{asked}: {found.get('poll_question_text', '')}\n{result} {found.get('total_votes', '0')} votes"


def _read_moderation(message: Json, names: MessageNames) -> str:
    """Read what automatic moderation did with the author's message, or detected in the server. Raises
    Malformed.
    """
    found = _facts(message)
    if found.get("notification_type"):
        joined = f", {found['join_attempts']} people tried to join" if found.get("join_attempts") else ""
        return f"The automatic moderation suspects a {found['notification_type']}{joined}"
    stopped = get_string(next(iter(get_objects(message, "embeds")), {}), "description")
    outcome = found.get("decision_outcome") or "flagged"
    channel = names.channel(found.get("channel_id", ""))
    where = f" in #{channel}" if channel else ""
    author = names.name_of(get_object(message, "author"))
    lines = [
        f"The automatic moderation {outcome} a message of {author}{where}",
        f"Rule: {found['rule_name']}" if found.get("rule_name") else "",
        f"Keyword: {found['keyword']}" if found.get("keyword") else "",
        f"Message: {names.read(stopped)}" if stopped else "",
    ]
    return "\n".join(filter(None, lines))


def _facts(message: Json) -> dict[str, str]:
    """Return the fields of a message's first embed by name, which such messages contain instead of
    content.
    """
    embed = next(iter(get_objects(message, "embeds")), {})
    return {get_string(one, "name"): get_string(one, "value") for one in get_objects(embed, "fields")}


_READERS: dict[int, Callable[[Json, MessageNames], str]] = {
    1: _read_added,
    2: _read_removed,
    3: _read_call,
    8: _read_boost,
    24: _read_moderation,
    25: _read_subscription,
    32: _read_upgrade,
    36: _read_lockdown,
    44: _read_purchase,
    46: _read_poll_result,
}
_WHOLE = frozenset({24, 46})
"""Notices whose sentence has another subject than the author."""
