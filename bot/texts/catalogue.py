"""Lookup of texts by key, with their fields filled in. Missing translations fall back to English.

Texts name commands in code spans that begin with a slash (`/status`). They are shown as people type them in
the chat that the text is for, such as `@bot /status` in a group (`bot.texts.command_forms`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from bot.texts.command_forms import FindCommands, plain_commands
from bot.texts.en import ENGLISH
from bot.texts.zh import CHINESE

CATALOGUES: Mapping[str, dict[str, str]] = {"en": {**ENGLISH}, "zh": {**CHINESE}}
_DEFAULT = CATALOGUES["en"]
COUNTS = ("count", "days")
"""Fields that choose the form of a text for one: `KEY_one` where the value is 1."""
_SUBTAG = re.compile(r"[-_.;@]")
SPAN = re.compile(r"`/(?P<usage>[\w{][^`]*)`")
# This text is about the web console.
_ELSEWHERE = "pair {code} owner"


class Texts:
    """Texts in one language for one chat. `find_commands` returns how commands are typed there."""

    def __init__(
        self,
        locale: str,
        find_commands: FindCommands = plain_commands,
        *,
        private: bool = True,
        thread: bool = False,
    ) -> None:
        self.locale = locale
        self._catalogue = CATALOGUES[locale]
        self._find_commands = find_commands
        self._private = private
        self._thread = thread

    def __call__(self, key: str, /, **fields: object) -> str:
        """Return the text with this key and its fields filled in. Raises KeyError if no catalogue contains
        it.
        """
        pieces = _split_spans(self._template(key, fields))
        shown = [
            text.format(**fields) if index % 2 == 0 else self._span(text, fields)
            for index, text in enumerate(pieces)
        ]
        return "".join(shown)

    def in_language(self, locale: str) -> Texts:
        """Return the texts in another language, or these texts if it is not available."""
        if locale == self.locale or locale not in CATALOGUES:
            return self
        return Texts(locale, self._find_commands, private=self._private, thread=self._thread)

    def in_chat(self, kind: str, topic: str) -> Texts:
        """Return the texts for a chat ("private" or "group"), or for a thread in it if `topic` is not
        empty.
        """
        return Texts(self.locale, self._find_commands, private=kind == "private", thread=bool(topic))

    def command(self, usage: str) -> str:
        """Return a command, given without its slash, as people type it here."""
        skill = f"cmd_{usage.partition(' ')[0]}" not in _DEFAULT
        return self._find_commands().render(usage, private=self._private, thread=self._thread, skill=skill)

    def has(self, key: str) -> bool:
        """Return whether there is a text with this key."""
        return key in _DEFAULT

    def kind(self, name: str) -> str:
        """Return the name of a platform's message type, such as `video_note`, in this language."""
        return self.label("kind", name).replace("_", " ")

    def label(self, group: str, name: str) -> str:
        """Return the label of a name in a group, such as a role; the name itself if it has none."""
        key = f"{group}_{name.replace(' ', '_')}"
        return self(key) if key in _DEFAULT else name

    def _template(self, key: str, fields: Mapping[str, object]) -> str:
        is_one = any(fields.get(name) == 1 for name in COUNTS)
        singular = self._catalogue.get(f"{key}_one") if is_one else None
        return singular or self._catalogue.get(key) or _DEFAULT[key]

    def _span(self, usage: str, fields: Mapping[str, object]) -> str:
        filled = usage.format(**fields)
        return f"`/{filled}`" if usage == _ELSEWHERE else f"`{self.command(filled)}`"


@lru_cache(maxsize=1024)
def _split_spans(template: str) -> tuple[str, ...]:
    """Return a template's texts and, between them, the commands it contains, without their slashes."""
    return tuple(SPAN.split(template))


def add_texts(texts: Mapping[str, Mapping[str, str]]) -> None:
    """Add a feature's texts, by language and key. Raises ValueError if a key already has a different text.

    A language without a catalogue is skipped.
    """
    for locale, catalogue in CATALOGUES.items():
        added = texts.get(locale, {})
        if taken := [key for key, text in added.items() if catalogue.get(key, text) != text]:
            raise ValueError(f"the text {taken[0]} exists already")
        catalogue.update(added)


def texts_for(locale: str, find_commands: FindCommands = plain_commands) -> Texts:
    """Return the texts of a locale (see `find_language`), or in English if there are none."""
    return Texts(find_language(locale) or "en", find_commands)


def find_language(locale: str) -> str:
    """Return the first available language of a locale, or "" if there is none.

    A locale has a format like `zh`, `zh-Hant-TW` or `zh_CN.UTF-8`, or is a list as in an Accept-Language header.
    """
    names = (_SUBTAG.split(one.strip().lower())[0] for one in locale.split(","))
    return next((name for name in names if name in CATALOGUES), "")


def in_all_languages(key: str) -> frozenset[str]:
    """Return a text without fields in every language, to recognize one that was shown to people."""
    return frozenset(catalogue[key] for catalogue in CATALOGUES.values() if key in catalogue)
