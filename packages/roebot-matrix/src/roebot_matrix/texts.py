"""The bot's own texts in a room, in the account's language."""

from collections.abc import Mapping

ENCRYPTED: Mapping[str, str] = {
    "en": "This room is encrypted, and I can't read encrypted messages, so I am leaving it. "
    "Please invite me to a room without encryption.",
    "zh": "这个房间已开启端到端加密，我读不了加密消息，所以先退出了。请邀请我加入未加密的房间。",
}
