"""Telegram: long polling in, posts, edits, drafts and files out. The SDK is loaded by `adapter` only."""

from bot.platforms.manifest import Platform
from bot.platforms.telegram.account import TelegramAccount
from bot.platforms.telegram.manifest import MANIFEST

PLATFORM = Platform(MANIFEST, TelegramAccount)
