"""What the service itself says, from one catalogue."""

from bot.texts.catalogue import Texts, texts_for

__all__ = ["Texts", "texts_for"]
