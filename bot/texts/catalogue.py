"""Look a text up by its key and fill in its fields. A missing translation falls back to English.

Texts name commands in code spans that begin with a slash (`/status`). Slack does not let people type that:
there such spans become `/roebot status`, and `@bot /status` inside a thread, where Slack offers no app
commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

from bot.texts.en import ENGLISH
from bot.texts.zh import CHINESE

CATALOGUES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}
COUNTS = ("count", "days")
"""Fields that choose the form of a text for one: `KEY_one` where the value is 1."""
_SPAN = re.compile(r"`/(?P<usage>[\w{][^`]*)`")
# "approve 12" needs no slash and no mention on any platform; this text is about the web console.
_DECISION = re.compile(r"(?:approve|reject|\{command\}) (?:\{number\}|\d+)")
_ELSEWHERE = "pair {code} owner"


class CommandForm(Enum):
    """How people type a command."""

    SLASH = "/{}"
    SLACK = "/roebot {}"
    SLACK_THREAD = "@bot /{}"

    def render(self, usage: str) -> str:
        """Return a command, given without its slash, as it is typed."""
        if self is CommandForm.SLACK_THREAD and _DECISION.fullmatch(usage):
            return usage
        return self.value.replace("{}", usage)


class Texts:
    """The texts of one language, for one way of typing commands."""

    def __init__(self, locale: str, form: CommandForm = CommandForm.SLASH) -> None:
        self.locale = locale
        self._catalogue = CATALOGUES[locale]
        self._form = form

    def __call__(self, key: str, /, **fields: object) -> str:
        """Return the text with this key, its fields filled in. Raises KeyError if no catalogue has it."""
        return _typed(self._template(key, fields), self._form).format(**fields)

    def in_language(self, locale: str) -> Texts:
        """Return the texts in another language, these where there is none."""
        if locale == self.locale or locale not in CATALOGUES:
            return self
        return Texts(locale, self._form)

    def in_thread(self, topic: str) -> Texts:
        """Return the texts for a thread of the platform, these if `topic` is empty."""
        if not topic or self._form is not CommandForm.SLACK:
            return self
        return Texts(self.locale, CommandForm.SLACK_THREAD)

    def command(self, usage: str) -> str:
        """Return a command, given without its slash, as people type it here."""
        return self._form.render(usage)

    def kind(self, name: str) -> str:
        """Return the words for a platform's type of message, such as `video_note`."""
        return self.label("kind", name).replace("_", " ")

    def label(self, group: str, name: str) -> str:
        """Return the words for one of a group of names, such as a role; the name itself if it has none."""
        key = f"{group}_{name.replace(' ', '_')}"
        return self(key) if key in ENGLISH else name

    def _template(self, key: str, fields: Mapping[str, object]) -> str:
        is_one = any(fields.get(name) == 1 for name in COUNTS)
        singular = self._catalogue.get(f"{key}_one") if is_one else None
        return singular or self._catalogue.get(key) or ENGLISH[key]


@lru_cache(maxsize=1024)
def _typed(template: str, form: CommandForm) -> str:
    """Write the commands that a template names in the form of a platform."""
    if form is CommandForm.SLASH:
        return template
    return _SPAN.sub(lambda span: f"`{_render(span['usage'], form)}`", template)


def _render(usage: str, form: CommandForm) -> str:
    return (CommandForm.SLASH if usage == _ELSEWHERE else form).render(usage)


def texts_for(locale: str, platform: str = "") -> Texts:
    """Return the texts of a locale (`zh-CN` finds `zh`), in English if there are none."""
    names = (locale, locale.partition("-")[0])
    found = next((name for name in names if name in CATALOGUES), "en")
    return Texts(found, CommandForm.SLACK if platform == "slack" else CommandForm.SLASH)
