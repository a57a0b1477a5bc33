"""Texts of the service, in all its languages."""

from bot.texts.catalogue import Texts, add_texts, find_language, in_all_languages, texts_for
from bot.texts.command_forms import CommandForms, TypedCommands

__all__ = [
    "CommandForms",
    "Texts",
    "TypedCommands",
    "add_texts",
    "find_language",
    "in_all_languages",
    "texts_for",
]
