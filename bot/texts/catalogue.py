"""Looks a text up by its id and fills its fields; a missing translation falls back to English."""

from __future__ import annotations

from collections.abc import Mapping

from bot.texts.en import ENGLISH
from bot.texts.zh import CHINESE

CATALOGUES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}


class Texts:
    """The texts of one language; `locale` names it."""

    def __init__(self, locale: str) -> None:
        self.locale = locale
        self._catalogue = CATALOGUES[locale]

    def __call__(self, key: str, /, **fields: object) -> str:
        """The text with this id. Raises KeyError for an id that no catalogue has."""
        text = self._catalogue.get(key) or ENGLISH[key]
        return text.format(**fields)


def texts_for(locale: str) -> Texts:
    """The texts of a locale (`zh-CN` finds `zh`), English where there is none."""
    names = (locale, locale.partition("-")[0])
    return Texts(next((name for name in names if name in CATALOGUES), "en"))
