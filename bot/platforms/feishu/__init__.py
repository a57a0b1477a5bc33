"""Feishu and Lark: one adapter for both, on the service's own loop."""

from bot.platforms.feishu.account import FeishuAccount
from bot.platforms.feishu.manifest import MANIFEST
from bot.platforms.manifest import Platform

PLATFORM = Platform(MANIFEST, FeishuAccount)
