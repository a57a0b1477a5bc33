"""Platform notices: people join and leave, messages are pinned, calls start and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog

from bot import content
from bot.domain import Quotation
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    require_object,
)
from bot.platforms.telegram.formatted_text import format_date, read_formatted
from bot.platforms.telegram.message_contents import format_amount
from bot.platforms.telegram.names import chat_name, read_sender, user_name
from bot.platforms.telegram.polls import name_tasks
from bot.platforms.unreadable import UNREADABLE

log = structlog.get_logger(__name__)


def read_notice(message: Json) -> Quotation | None:
    """Return the notice that a service message represents, or None for any other message. Raises Malformed if
    the sender can't be read.
    """
    kind = next((one for one in _NOTICES if message.get(one) is not None), "")
    if not kind:
        return None
    who = read_sender(message).name
    try:
        return content.notice(_NOTICES[kind](message, who))
    except Malformed as problem:
        log.warning("telegram.notice_unreadable", kind=kind, reason=str(problem))
        return content.notice(f"{who}: {kind.replace('_', ' ')} {UNREADABLE}")


def find_quoted_message(message: Json) -> Json:
    """Return the message to which a service message refers, or an empty one if there is none or it is not
    available.
    """
    for kind, key in _ABOUT.items():
        about = message.get(kind)
        quoted = about.get(key) if isinstance(about, dict) and key else about
        if isinstance(quoted, dict) and quoted.get("date"):
            return quoted
    return {}


_ABOUT = {
    "pinned_message": "",
    "suggested_post_approved": "suggested_post_message",
    "suggested_post_approval_failed": "suggested_post_message",
    "suggested_post_declined": "suggested_post_message",
    "suggested_post_paid": "suggested_post_message",
    "suggested_post_refunded": "suggested_post_message",
    "checklist_tasks_done": "checklist_message",
    "checklist_tasks_added": "checklist_message",
    "poll_option_added": "poll_message",
    "poll_option_deleted": "poll_message",
}


def _says(text: str) -> Callable[[Json, str], str]:
    """Return a function for notices that consist of the actor's name and this text."""
    return lambda _message, who: f"{who} {text}"


def _names(users: list[Json]) -> str:
    return ", ".join(map(user_name, users))


def _added(message: Json, who: str) -> str:
    people = get_objects(message, "new_chat_members")
    themselves = len(people) == 1 and people[0].get("id") == get_object(message, "from").get("id")
    return f"{who} joined" if themselves else f"{who} added {_names(people)}"


def _left(message: Json, who: str) -> str:
    person = require_object(message, "left_chat_member")
    themselves = person.get("id") == get_object(message, "from").get("id")
    return f"{who} left" if themselves else f"{who} removed {user_name(person)}"


def _owner(kind: str, verb: str) -> Callable[[Json, str], str]:
    def tell(message: Json, who: str) -> str:
        owner = user_name(get_object(require_object(message, kind), "new_owner"))
        return f"{who} {verb}; the new owner is {owner or 'not known'}"

    return tell


def _topic(kind: str, verb: str) -> Callable[[Json, str], str]:
    def tell(message: Json, who: str) -> str:
        name = get_string(require_object(message, kind), "name")
        return f'{who} {verb} "{name}"' if name else f"{who} changed the topic's icon"

    return tell


def _timer(message: Json, who: str) -> str:
    seconds = get_int(
        require_object(message, "message_auto_delete_timer_changed"), "message_auto_delete_time"
    )
    if not seconds:
        return f"{who} turned off the auto-delete timer"
    return f"{who} set the auto-delete timer to {seconds // 3600} h"


def _scheduled(message: Json, who: str) -> str:
    start = get_int(require_object(message, "video_chat_scheduled"), "start_date")
    return f"{who} scheduled a video chat for {format_date(start)}"


def _ended(message: Json, who: str) -> str:
    seconds = get_int(require_object(message, "video_chat_ended"), "duration")
    return f"{who} ended the video chat after {max(seconds // 60, 1)} min"


def _invited(message: Json, who: str) -> str:
    users = get_objects(require_object(message, "video_chat_participants_invited"), "users")
    return f"{who} invited {_names(users)} to the video chat"


def _proximity(message: Json, _who: str) -> str:
    alert = require_object(message, "proximity_alert_triggered")
    traveler, watcher = (user_name(require_object(alert, one)) for one in ("traveler", "watcher"))
    return f"{traveler} is within {get_int(alert, 'distance')} m of {watcher}"


def _shared_users(message: Json, who: str) -> str:
    return f"{who} shared {_names(get_objects(require_object(message, 'users_shared'), 'users'))}"


def _shared_chat(message: Json, who: str) -> str:
    chat = require_object(message, "chat_shared")
    username = get_string(chat, "username")
    title = get_string(chat, "title") or "a chat"
    return f"{who} shared {title}{f' (@{username})' if username else ''}"


def _web_app(message: Json, who: str) -> str:
    sent = require_object(message, "web_app_data")
    return f'{who} sent data with "{get_string(sent, "button_text")}": {get_string(sent, "data")}'


def _community(kind: str, verb: str) -> Callable[[Json, str], str]:
    def tell(message: Json, who: str) -> str:
        name = get_string(get_object(require_object(message, kind), "community"), "name")
        return f"{who} {verb} the community {name}".rstrip()

    return tell


def _gift(message: Json, who: str) -> str:
    kind = "gift" if message.get("gift") is not None else "gift_upgrade_sent"
    info = require_object(message, kind)
    emoji = get_string(get_object(get_object(info, "gift"), "sticker"), "emoji")
    words = read_formatted(info, "text", "entities").text
    what = "sent a gift" if kind == "gift" else "paid for the upgrade of a gift"
    return f"{who} {what} {emoji}".rstrip() + (f": {words}" if words else "")


def _unique_gift(message: Json, who: str) -> str:
    gift = get_object(require_object(message, "unique_gift"), "gift")
    return f"{who} sent or received a unique gift: {get_string(gift, 'base_name')}".rstrip(": ")


def _payment(kind: str, verb: str) -> Callable[[Json, str], str]:
    def tell(message: Json, who: str) -> str:
        payment = require_object(message, kind)
        amount = format_amount(get_string(payment, "currency"), get_int(payment, "total_amount"))
        return f"{verb} {who}: {amount}"

    return tell


def _boosted(message: Json, who: str) -> str:
    return f"{who} boosted the chat: boosts {get_int(require_object(message, 'boost_added'), 'boost_count')}"


def _paid_messages(message: Json, who: str) -> str:
    stars = get_int(require_object(message, "paid_message_price_changed"), "paid_message_star_count")
    return f"{who} changed the price of a message to {stars} Telegram Stars"


def _direct_messages(message: Json, who: str) -> str:
    changed = require_object(message, "direct_message_price_changed")
    if changed.get("are_direct_messages_enabled") is not True:
        return f"{who} turned off direct messages to the channel"
    stars = get_int(changed, "direct_message_star_count")
    return f"{who} changed the price of a direct message to the channel to {stars} Telegram Stars"


def _giveaway_completed(message: Json, _who: str) -> str:
    ended = require_object(message, "giveaway_completed")
    return f"The giveaway ended, winners: {get_int(ended, 'winner_count')}"


def _tasks_done(message: Json, who: str) -> str:
    changed = require_object(message, "checklist_tasks_done")
    checklist = get_object(get_object(changed, "checklist_message"), "checklist")
    parts = [
        f"{verb}: {', '.join(name_tasks(checklist, changed.get(key))) or 'some tasks'}"
        for key, verb in (("marked_as_done_task_ids", "done"), ("marked_as_not_done_task_ids", "not done"))
        if changed.get(key)
    ]
    return f"{who} marked tasks of a checklist as {'; as '.join(parts)}"


def _tasks_added(message: Json, who: str) -> str:
    tasks = get_objects(require_object(message, "checklist_tasks_added"), "tasks")
    return f"{who} added to a checklist: {', '.join(get_string(task, 'text') for task in tasks)}"


def _poll_option(kind: str, verb: str) -> Callable[[Json, str], str]:
    def tell(message: Json, who: str) -> str:
        return f"{who} {verb} the poll option {get_string(require_object(message, kind), 'option_text')}"

    return tell


def _declined(message: Json, who: str) -> str:
    comment = get_string(require_object(message, "suggested_post_declined"), "comment")
    return f"{who} declined the suggested post" + (f": {comment}" if comment else "")


def _approved(message: Json, who: str) -> str:
    send_date = get_int(require_object(message, "suggested_post_approved"), "send_date")
    when = format_date(send_date)
    return f"{who} approved the suggested post" + (f", to be published at {when}" if when else "")


_NOTICES: Mapping[str, Callable[[Json, str], str]] = {
    "new_chat_members": _added,
    "left_chat_member": _left,
    "chat_owner_left": _owner("chat_owner_left", "left as owner of the group"),
    "chat_owner_changed": _owner("chat_owner_changed", "transferred ownership of the group"),
    "new_chat_title": lambda message, who: (
        f'{who} renamed the chat to "{get_string(message, "new_chat_title")}"'
    ),
    "new_chat_photo": _says("changed the photo of the chat"),
    "delete_chat_photo": _says("deleted the photo of the chat"),
    "group_chat_created": lambda message, who: f'{who} created the group "{chat_name(message["chat"])}"',
    "supergroup_chat_created": _says("created the group"),
    "channel_chat_created": _says("created the channel"),
    "message_auto_delete_timer_changed": _timer,
    "pinned_message": _says("pinned a message"),
    "successful_payment": _payment("successful_payment", "Successful payment by"),
    "refunded_payment": _payment("refunded_payment", "Payment refunded to"),
    "users_shared": _shared_users,
    "chat_shared": _shared_chat,
    "gift": _gift,
    "gift_upgrade_sent": _gift,
    "unique_gift": _unique_gift,
    "connected_website": lambda message, who: (
        f"{who} signed in to {get_string(message, 'connected_website')}"
    ),
    "write_access_allowed": _says("allowed the bot to write messages"),
    "passport_data": _says("sent Telegram Passport data, which the bot does not read"),
    "proximity_alert_triggered": _proximity,
    "boost_added": _boosted,
    "chat_background_set": _says("changed the background of the chat"),
    "checklist_tasks_done": _tasks_done,
    "checklist_tasks_added": _tasks_added,
    "direct_message_price_changed": _direct_messages,
    "forum_topic_created": _topic("forum_topic_created", "created the topic"),
    "forum_topic_edited": _topic("forum_topic_edited", "renamed the topic to"),
    "forum_topic_closed": _says("closed the topic"),
    "forum_topic_reopened": _says("reopened the topic"),
    "general_forum_topic_hidden": _says("hid the General topic"),
    "general_forum_topic_unhidden": _says("unhid the General topic"),
    "giveaway_created": _says("created a giveaway"),
    "giveaway_completed": _giveaway_completed,
    "managed_bot_created": _says("created a bot that this bot manages"),
    "paid_message_price_changed": _paid_messages,
    "poll_option_added": _poll_option("poll_option_added", "added"),
    "poll_option_deleted": _poll_option("poll_option_deleted", "deleted"),
    "suggested_post_approved": _approved,
    "suggested_post_approval_failed": _says("could not approve the suggested post"),
    "suggested_post_declined": _declined,
    "suggested_post_paid": _says("received the payment for the suggested post"),
    "suggested_post_refunded": _says("was refunded for the suggested post"),
    "video_chat_scheduled": _scheduled,
    "video_chat_started": _says("started a video chat"),
    "video_chat_ended": _ended,
    "video_chat_participants_invited": _invited,
    "web_app_data": _web_app,
    "community_chat_added": _community("community_chat_added", "added the group to"),
}
