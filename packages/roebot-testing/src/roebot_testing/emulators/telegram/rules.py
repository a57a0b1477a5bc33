"""What the Bot API refuses besides malformed parameters: chats, rights, topics, messages, files, polls.

Sources: "server" is the official Bot API server (tdlib/telegram-bot-api 10.0, telegram-bot-api/Client.cpp),
"tdlib" the library below it (tdlib/td 1.8.66, td/telegram), "Bot API" the documentation at
core.telegram.org/bots/api, "PTB" the constants of python-telegram-bot 22.8. The server writes the first
letter of an error of the library in lower case (`Client::fail_query_with_error`).
"""

from __future__ import annotations

from dataclasses import dataclass

from roebot_testing.emulators.telegram.errors import NOT_MODIFIED, TelegramApiError

_PREFIXES = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}
DELETABLE_SECONDS = 2 * 86_400
"""Age up to which a bot may delete a message (Bot API: deleteMessage, "less than 48 hours ago")."""


@dataclass(frozen=True, slots=True)
class TelegramRule:
    """Something that Telegram refuses, with the text of its error and the `source` of both.

    `{value}` in the error is what was refused, `{reason}` why.
    """

    name: str
    error: str
    source: str
    status: int = 400

    def refusal(self, value: object = "", reason: str = "") -> TelegramApiError:
        """Build the error."""
        text = self.error.replace("{value}", str(value)).replace("{reason}", reason)
        prefix = _PREFIXES.get(self.status)
        return TelegramApiError(self.status, f"{prefix}: {text}" if prefix else text)


NO_CHAT_ID = TelegramRule("no_chat_id", "chat_id is empty", "server: check_chat")
UNKNOWN_CHAT = TelegramRule("unknown_chat", "chat not found", "server: TdOnCheckChatCallback")
STRANGER = TelegramRule(
    "stranger",
    "bot can't initiate conversation with a user",
    "tdlib: MessagesManager::process_send_message_fail_error, PEER_ID_INVALID",
    403,
)
STRANGER_ACTION = TelegramRule(
    "stranger_action", "PEER_ID_INVALID", "tdlib: process_send_message_fail_error converts it for posts alone"
)
BOT_PEER = TelegramRule(
    "bot_peer",
    "the bot can't send messages to the bot",
    "tdlib: MessagesManager::process_send_message_fail_error, USER_IS_BOT",
    403,
)
DEACTIVATED = TelegramRule("deactivated", "user is deactivated", "server: check_chat_access", 403)
BLOCKED = TelegramRule(
    "blocked", "bot was blocked by the user", "server: fail_query_with_error, USER_IS_BLOCKED", 403
)
KICKED = TelegramRule("kicked", "bot was kicked from the {value} chat", "server: check_chat_access", 403)
LEFT = TelegramRule("left", "bot is not a member of the {value} chat", "server: check_chat_access", 403)
GROUP_DELETED = TelegramRule("group_deleted", "the group chat was deleted", "server: check_chat_access", 403)

NO_RIGHT = TelegramRule(
    "no_right",
    "not enough rights to send {value} to the chat",
    "tdlib: MessageContent.cpp, can_send_message_content",
)
NO_RIGHT_RICH = TelegramRule(
    "no_right_rich",
    "not enough rights to send the rich message to the chat",
    "tdlib: MessageContent.cpp, can_send_message_content",
)
UNKNOWN_TOPIC = TelegramRule(
    "unknown_topic", "message thread not found", "server: check_message_topic, TdOnCheckForumTopicCallback"
)
GENERAL_TOPIC = TelegramRule(
    "general_topic", "message thread not found", "server: check_message_topic, GENERAL_FORUM_TOPIC_ID"
)
TOPIC_CLOSED = TelegramRule(
    "topic_closed", "TOPIC_CLOSED", "core.telegram.org/method/messages.sendMessage, possible errors"
)
NO_REPLY_TARGET = TelegramRule(
    "no_reply_target", "message to be replied not found", "server: check_reply_parameters"
)

ENTITY_AFTER_END = TelegramRule(
    "entity_after_end",
    "entity begins after the end of the text at UTF-16 offset {value}",
    "tdlib: MessageEntity.cpp, clean_input_string_with_entities",
)
ENTITY_PAST_END = TelegramRule(
    "entity_past_end",
    "entity beginning at UTF-16 offset {value} ends after the end of the text at UTF-16 offset {reason}",
    "tdlib: MessageEntity.cpp, clean_input_string_with_entities",
)
ENTITY_BEGINS_INSIDE = TelegramRule(
    "entity_begins_inside",
    "entity begins in a middle of a UTF-16 symbol at byte offset {value}",
    "tdlib: MessageEntity.cpp, clean_input_string_with_entities",
)
ENTITY_ENDS_INSIDE = TelegramRule(
    "entity_ends_inside",
    "entity beginning at UTF-16 offset {value} ends in a middle of a UTF-16 symbol at byte offset {reason}",
    "tdlib: MessageEntity.cpp, clean_input_string_with_entities",
)

NOTHING_TO_EDIT = TelegramRule("nothing_to_edit", "message to edit not found", "server: check_message")
EDIT_OF_OTHERS = TelegramRule(
    "edit_of_others", "message can't be edited", "tdlib: MessagesManager::can_edit_message"
)
EDIT_WITHOUT_TEXT = TelegramRule(
    "edit_without_text",
    "there is no text in the message to edit",
    "tdlib: MessagesManager::edit_message_text",
)
UNCHANGED = TelegramRule("unchanged", NOT_MODIFIED, "server: fail_query_with_error, MESSAGE_NOT_MODIFIED")
NO_DELETE_CHAT = TelegramRule(
    "no_delete_chat", "chat identifier is not specified", "server: process_delete_message_query"
)
NO_DELETE_ID = TelegramRule(
    "no_delete_id", "message identifier is not specified", "server: process_delete_message_query"
)
NOTHING_TO_DELETE = TelegramRule("nothing_to_delete", "message to delete not found", "server: check_message")
DELETE_IN_GROUP = TelegramRule(
    "delete_in_group",
    "message can't be deleted for everyone",
    "tdlib: MessagesManager::can_revoke_message, a basic group without administrator rights",
)
DELETE_IN_SUPERGROUP = TelegramRule(
    "delete_in_supergroup",
    "message can't be deleted",
    "tdlib: MessagesManager::can_delete_channel_message, without the right to delete messages",
)
DELETE_OLD = TelegramRule(
    "delete_old",
    "message can't be deleted for everyone",
    "tdlib: MessagesManager::can_revoke_message, DEFAULT_REVOKE_TIME_LIMIT of bots",
)
DELETE_OLD_IN_SUPERGROUP = TelegramRule(
    "delete_old_in_supergroup",
    "message can't be deleted",
    "tdlib: MessagesManager::can_delete_channel_message, bots and 2 days",
)
DELETE_TOPIC_START = TelegramRule(
    "delete_topic_start",
    "message can't be deleted",
    "tdlib: MessagesManager::can_delete_channel_message, TopicCreate",
)

NOTHING_TO_REACT = TelegramRule(
    "nothing_to_react", "message to react not found", "server: process_set_message_reaction_query"
)
REACTION_REFUSED = TelegramRule(
    "reaction_refused",
    "REACTION_INVALID",
    "core.telegram.org/method/messages.sendReaction, possible errors; Bot API: ReactionTypeEmoji",
)
EXPIRED_QUERY = TelegramRule(
    "expired_query",
    "query is too old and response timeout expired or query ID is invalid",
    "server: fail_query_with_error, QUERY_ID_INVALID",
)
DRAFT_IN_GROUP = TelegramRule(
    "draft_in_group", "TEXTDRAFT_PEER_INVALID", "Bot API: sendMessageDraft, private chats; nullclaw#626"
)
UNKNOWN_FILE = TelegramRule("unknown_file", "invalid file_id", "server: TdOnCheckRemoteFileIdCallback")
UNKNOWN_MEDIA = TelegramRule(
    "unknown_media",
    "wrong file identifier/HTTP URL specified",
    "tdlib: MessagesManager::process_send_message_fail_error, MEDIA_EMPTY",
)
FILE_TOO_BIG = TelegramRule(
    "file_too_big", "file is too big", "server: do_get_file; PTB: FileSizeLimit.FILESIZE_DOWNLOAD"
)
UPLOAD_TOO_BIG = TelegramRule(
    "upload_too_big",
    "Request Entity Too Large",
    "Bot API: sendDocument, up to 50 MB; error: telegraf#913",
    413,
)
PHOTO_TOO_BIG = TelegramRule(
    "photo_too_big",
    "file of size {value} bytes is too big for a photo; the maximum size is 10485760 bytes",
    "Bot API: sendPhoto, at most 10 MB; error: tdlib, FileLoaderUtils.cpp",
)
EMPTY_FILE = TelegramRule(
    "empty_file", "file must be non-empty", "tdlib: FileLoaderUtils.cpp, check_full_local_location"
)
NO_FILE = TelegramRule("no_file", "there is no {value} in the request", "server: process_send_document_query")
NO_MEDIA = TelegramRule("no_media", "can't parse InputMedia: media not found", "server: get_input_media")
NO_PICTURE = TelegramRule(
    "no_picture", "IMAGE_PROCESS_FAILED", "core.telegram.org/method/messages.uploadMedia, possible errors"
)

UNKNOWN_METHOD = TelegramRule("unknown_method", "method not found", "server: Client::on_cmd", 404)
WEBHOOK_ACTIVE = TelegramRule(
    "webhook_active",
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    "server: process_get_updates_query",
    409,
)
OTHER_POLLER = TelegramRule(
    "other_poller",
    "terminated by other getUpdates request; make sure that only one bot instance is running",
    "server: Client::abort_long_poll",
    409,
)
WEBHOOK_SET = TelegramRule(
    "webhook_set", "terminated by setWebhook request", "server: Client::abort_long_poll", 409
)

RULES = tuple(value for value in tuple(globals().values()) if isinstance(value, TelegramRule))
