"""`/language`: the language of the service's own texts, for the caller or for a chat."""

from __future__ import annotations

from collections.abc import Mapping

from bot.commands.registry import Invocation, Result
from bot.domain import ChatKind, person_of

HERE, DEFAULT = "here", "default"
NAMES: Mapping[str, str] = {
    **dict.fromkeys(("en", "english", "英文", "英语"), "en"),
    **dict.fromkeys(("zh", "zh-cn", "chinese", "中文", "汉语"), "zh"),
    **dict.fromkeys((DEFAULT, "默认"), ""),
}


def is_language(rest: str) -> bool:
    """Return whether the words after the command name are arguments rather than a sentence."""
    words = rest.lower().split()
    return all(word in NAMES for word in (words[1:] if words[:1] == [HERE] else words))


async def language(call: Invocation) -> Result:
    """Show or set the caller's language, or with `here` the chat's."""
    words, address = [word.lower() for word in call.words], call.turn.address
    person = person_of(call.turn.platform, call.turn.messages[-1].sender)
    is_here = words[:1] == [HERE] and address.chat_kind is ChatKind.GROUP
    words = words[1:] if words[:1] == [HERE] else words
    entry = f"{address.account}:{address.chat}" if is_here else person
    if not words:
        return Result(call.texts("language_is", language=call.texts(f"language_{call.texts.locale}")))
    if len(words) > 1 or words[0] not in NAMES:
        return Result(call.texts("language_unknown"))
    await call.core.languages.set_language(entry, NAMES[words[0]])
    texts = call.account.texts_of(call.turn)
    default = call.account.texts.locale if is_here else texts.locale
    name = texts(f"language_{call.core.languages.get(entry) or default}")
    return Result(texts("language_set_here" if is_here else "language_set", language=name))
