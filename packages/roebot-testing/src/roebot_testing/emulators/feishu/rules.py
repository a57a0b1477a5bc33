"""What the emulated Feishu refuses, each rule with its code and text.

`source` names the document on open.feishu.cn, or the issue with the answer of the real service where the
document lacks the text. `fields` has the rules about single fields, `scopes` those about scopes, `errors`
those about tokens and frequency.
"""

from __future__ import annotations

from dataclasses import dataclass

from roebot_testing.emulators.feishu.errors import FeishuApiError

_CONTENT = "ErrMsg: Failed to generate card content; ErrorValue: {}"
_PARAMETER = "Your request contains an invalid request parameter, ext={}"
_CREATE, _REPLY, _UPDATE = "im-v1 message/create", "im-v1 message/reply", "im-v1 message/update"
_PATCH, _DELETE, _LIST = "im-v1 message/patch", "im-v1 message/delete", "im-v1 message/list"
_RESOURCE = "im-v1 message-resource/get"
_IMAGE, _FILE = "im-v1 image/create", "im-v1 file/create"
_CARD, _UPDATED = "cardkit-v1 card/create", "cardkit-v1 card/update"
_ELEMENT, _SETTINGS = "cardkit-v1 card-element/content", "cardkit-v1 card/settings"
_JSON, _BREAKING = "Card JSON 2.0 structure", "Card JSON 2.0 breaking changes"
_MEMBERS = "contact-v3 user/find_by_department"
_DELAYED = "Delay updating message card"
_230001 = "How to resolve error 230001"


@dataclass(frozen=True, slots=True)
class FeishuRule:
    """A refused value: `code` and `msg` of the response (`{}` for the problem), and the source."""

    code: int
    msg: str
    source: str

    def refusal(self, *values: object) -> FeishuApiError:
        """Build the answer, HTTP 400."""
        return FeishuApiError(400, self.code, self.msg.format(*values))


@dataclass(frozen=True, slots=True)
class Barrier(FeishuRule):
    """A rule about a chat that the app may not use: it refuses the calls of `methods`."""

    methods: frozenset[str]


# Cards, wherever they are sent or changed. Where the document names no code, the answer is the one for card
# JSON that is wrong: "Failed to generate card content".
CARD_SCHEMA = FeishuRule(300303, "ErrMsg: Only schema 2.0 is supported; ", _CARD)
CARD_EMPTY = FeishuRule(300307, "ErrMsg: The card DSL is empty; ", _CARD)
CARD_JSON = FeishuRule(200220, _CONTENT, _CARD)
CARD_UNKNOWN_PROPERTY = FeishuRule(200220, _CONTENT, _BREAKING)
CARD_UNKNOWN_TAG = FeishuRule(200220, _CONTENT, _JSON)
CARD_ELEMENT_ID = FeishuRule(200220, _CONTENT, _JSON)
CARD_BUTTON_TEXT = FeishuRule(200220, _CONTENT, "Button (JSON 2.0)")
CARD_PANEL = FeishuRule(200220, _CONTENT, "Collapsible panel (JSON 2.0)")
CARD_PANEL_FORM = FeishuRule(200220, _CONTENT, "Collapsible panel (JSON 2.0), nesting")
CARD_REMOVED_TAG = FeishuRule(
    200861,
    "ErrMsg: cards of schema V2 no longer support this capability; ErrorValue: unsupported tag {}; ",
    f"{_CREATE}, sub-codes of 230099",
)
CARD_NOT_SHARED = FeishuRule(300302, "ErrMsg: update_multi property is false; ", _CARD)
CARD_TOO_LONG = FeishuRule(200860, "ErrMsg: card content size over limit; ", _CARD)
CARD_TOO_MANY_ELEMENTS = FeishuRule(
    300305, "ErrMsg: element exceeds the limit; ", f"{_CARD}; Cheerwhy/hermes-lark-streaming#63"
)
CARD_DOUBLE_ID = FeishuRule(300301, "ErrMsg: Duplicate element_id; ", _CARD)
CARD_TABLES = FeishuRule(
    230099,
    "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit; "
    "ErrorValue: table; ",
    "larksuite/openclaw-lark#53",
)
CARD_NOBODY = FeishuRule(
    230099,
    "Failed to create card content, ext=ErrCode: 100290; ErrMsg: There is an invalid user "
    "resource(at/person) in your card; ErrorValue: {}; ",
    f"{_REPLY}, sub-codes of 230099",
)

# Card entities.
ENTITY_UNKNOWN = FeishuRule(200740, "ErrMsg: The card entity does not exist; ", _SETTINGS)
ENTITY_EXPIRED = FeishuRule(200750, "ErrMsg: The card entity has expired; ", _SETTINGS)
ENTITY_FOREIGN = FeishuRule(
    300311,
    "ErrMsg: The current application does not have permission to update/use this card; ",
    _SETTINGS,
)
ENTITY_IN_INTERACTION = FeishuRule(
    200810, "ErrMsg: The card is in an ongoing interaction and cannot be updated; ", _SETTINGS
)
ENTITY_UUID = FeishuRule(200770, "ErrMsg: UUID conflict; ", _SETTINGS)
ENTITY_SEQUENCE = FeishuRule(300317, "ErrMsg: sequence number compare failed; ", _SETTINGS)
ENTITY_SETTINGS = FeishuRule(300122, "ErrMsg: Failed to update card configuration; ", _SETTINGS)
ENTITY_PARAMETER = FeishuRule(
    10002, "ErrMsg: Your request contains an invalid request parameter: {}; ", _SETTINGS
)
NOT_STREAMING = FeishuRule(300309, "ErrMsg: streaming mode is closed; ", _ELEMENT)
STREAM_EXPIRED = FeishuRule(200850, "ErrMsg: card streaming timeout; ", _ELEMENT)
ELEMENT_NOT_TEXT = FeishuRule(300310, "ErrMsg: Only update text; ", _ELEMENT)
ELEMENT_UNKNOWN = FeishuRule(
    300313, "ErrMsg: not find elementID : {}; ", f"{_ELEMENT}; Cheerwhy/hermes-lark-streaming#43"
)

# Cards as messages.
MESSAGE_CARD = FeishuRule(
    230099, "Failed to create card content, ext=ErrCode: {}; {}", f"{_CREATE}, sub-codes of 230099"
)
MESSAGE_CARD_ID = FeishuRule(
    230099,
    "Failed to create card content, ext=ErrCode: 11310; ErrMsg: cardid is invalid; ",
    "zarazhangrui/lark-coding-agent-bridge#163; a card entity is sent once (cardkit-v1 card/create)",
)
MESSAGE_CARD_LOCKED = FeishuRule(
    230099,
    "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card action is lock; ",
    f"{_PATCH}, sub-codes of 230099",
)
DELAYED_TOKEN = FeishuRule(300020, "ErrMsg: the format of the token is wrong; ", _DELAYED)
DELAYED_EXPIRED = FeishuRule(300030, "ErrMsg: the token has expired; ", _DELAYED)
DELAYED_USED_UP = FeishuRule(300040, "ErrMsg: the token was used too often; ", _DELAYED)
DELAYED_RECALLED = FeishuRule(200000, "ErrMsg: the message card was recalled; ", _DELAYED)

# Chats and people.
_CHAT_CALLS = frozenset({"message.create", "message.reply", "message.update", "message.delete"})
NOT_IN_GROUP = Barrier(
    230002,
    "The bot can not be outside the group.",
    _CREATE,
    _CHAT_CALLS | {"message.get", "message.list"},
)
NO_AVAILABILITY = Barrier(
    230013,
    "Bot has NO availability to this user.",
    _REPLY,
    _CHAT_CALLS | {"message.patch", "message.get", "message.list"},
)
GROUP_MUTED = Barrier(
    230018,
    "These operations are NOT allowed at current group settings.",
    _CREATE,
    frozenset({"message.create", "message.reply", "message.update"}),
)
BOT_STOPPED = Barrier(
    230053,
    "The user has stopped the bot from sending messages.",
    _CREATE,
    frozenset({"message.create"}),
)
CHAT_DISSOLVED = Barrier(
    232009,
    "Your request specifies a chat which has already been dissolved.",
    _CREATE,
    _CHAT_CALLS | {"message.patch"},
)
CHAT_UNKNOWN = FeishuRule(232006, "Your request specifies a chat_id which is invalid.", "im-v1 chat/get")
CHAT_OUTSIDE = FeishuRule(232011, "Operator can NOT be out of the chat.", "im-v1 chat/get")
PERSON_HIDDEN = FeishuRule(41050, "no user authority error", "contact-v3 user/get")
MEMBERS_PAGE = FeishuRule(40011, "page size is invalid", _MEMBERS)
MEMBERS_TOKEN = FeishuRule(40012, "page token is invalid error", _MEMBERS)
DEPARTMENT_HIDDEN = FeishuRule(40004, "no dept authority error", _MEMBERS)
RECEIVER_UNKNOWN = FeishuRule(230001, _PARAMETER.format("invalid receive_id"), _230001)

# Messages: their content.
MESSAGE_KIND = FeishuRule(230001, _PARAMETER.format("invalid msg_type"), _230001)
MESSAGE_JSON = FeishuRule(
    230001,
    _PARAMETER.format("invalid message content. content is not a string in json format"),
    _230001,
)
MESSAGE_CONTENT = FeishuRule(
    230001,
    _PARAMETER.format("invalid message content. content format of the {} type is incorrect"),
    _230001,
)
MESSAGE_TAG = FeishuRule(
    230001, _PARAMETER.format("invalid message content. message_content has wrong tag"), _230001
)
MESSAGE_TAG_FIELD = FeishuRule(
    230001,
    _PARAMETER.format("invalid message content. message_content_{}_tag's {} field can't be nil"),
    _230001,
)
MESSAGE_TOO_LONG = FeishuRule(230025, "The length of the message content reaches its limit.", _CREATE)
IMAGE_UNKNOWN = FeishuRule(230001, _PARAMETER.format("invalid image_key"), _230001)
FILE_UNKNOWN = FeishuRule(230001, _PARAMETER.format("invalid file_key"), _230001)
FILE_FOREIGN = FeishuRule(230017, "Bot is NOT the owner of the resource.", _CREATE)
FILE_TYPE = FeishuRule(
    230055, "The type of file upload does not match the type of message being sent.", _CREATE
)

# Messages: what their state does not allow.
KIND_UNSUPPORTED = FeishuRule(230054, "This operation is not supported for this message type.", _REPLY)
UPDATE_FOREIGN = FeishuRule(230071, "The operator is not the sender of the message.", _UPDATE)
UPDATE_TOO_OFTEN = FeishuRule(
    230072, "The message has reached the number of times it can be edited.", _UPDATE
)
UPDATE_TOO_LATE = FeishuRule(230075, "The message has exceeded the time that can be edited.", _UPDATE)
PATCH_FOREIGN = FeishuRule(230001, _PARAMETER.format("bot or user is not the message`s sender"), _230001)
PATCH_NO_CARD = FeishuRule(230001, _PARAMETER.format("This message is NOT a card"), _230001)
PATCH_TOO_LATE = FeishuRule(230031, "Message can only be modified within 14 days after sending.", _PATCH)
RECALL_FOREIGN = FeishuRule(230026, "No permission to recall this message.", _DELETE)
RECALL_TOO_LATE = FeishuRule(230009, "Message has expired when recall message.", _DELETE)
RECALLED = FeishuRule(230011, "The message was withdrawn.", _REPLY)
READ_GROUP = FeishuRule(
    230027,
    "Lack of necessary permissions, ext=need scope: im:message.group_msg",
    "im-v1 message/get and list; openonion/connectonion#1544",
)
REACTION_TYPE = FeishuRule(231001, "reaction type is invalid.", "im-v1 message-reaction/create")
REACTION_MESSAGE = FeishuRule(
    231003, "The message is not found, maybe not exist or deleted.", "im-v1 message-reaction/create"
)
LIST_CONTAINER = FeishuRule(230001, _PARAMETER.format("invalid container_id_type"), _230001)
LIST_START = FeishuRule(230001, _PARAMETER.format("invalid start_time"), f"{_LIST}; {_230001}")
LIST_END = FeishuRule(230001, _PARAMETER.format("invalid end_time"), f"{_LIST}; {_230001}")
LIST_SORT = FeishuRule(230001, _PARAMETER.format("invalid sort_type"), _230001)
LIST_PAGE = FeishuRule(230001, _PARAMETER.format("invalid page_token"), _230001)

# Files.
UPLOAD_MISSING = FeishuRule(234001, "Invalid request param.", _FILE)
UPLOAD_EMPTY = FeishuRule(234010, "File's size can't be 0.", _FILE)
UPLOAD_TOO_LARGE = FeishuRule(234006, "The file size exceed the max value.", _FILE)
IMAGE_FORMAT = FeishuRule(234011, "Can't regonnize the image format.", _IMAGE)
IMAGE_RESOLUTION = FeishuRule(234039, "Image resolution exceeds limit.", _IMAGE)
RESOURCE_ELSEWHERE = FeishuRule(234003, "File not in msg.", _RESOURCE)
RESOURCE_OUTSIDE = FeishuRule(234004, "App not in chat.", _RESOURCE)
RESOURCE_KIND = FeishuRule(234043, "Unsupported message type.", _RESOURCE)
RESOURCE_TOO_LARGE = FeishuRule(234037, "Downloaded file size exceeds limit.", _RESOURCE)

RULES = {name: one for name, one in globals().copy().items() if isinstance(one, FeishuRule)}
"""All of them by name, so that a test can ask for a violation of each."""
