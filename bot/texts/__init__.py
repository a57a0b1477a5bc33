"""Texts of the service, in every language it speaks."""

from bot.texts.catalogue import Texts, texts_for

__all__ = ["Texts", "texts_for"]
