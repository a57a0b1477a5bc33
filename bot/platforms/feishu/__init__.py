"""Feishu and Lark: a shared adapter on the service's own event loop."""

from bot.platforms.feishu.account import FeishuAccount
from bot.platforms.feishu.manifest import MANIFEST
from bot.platforms.manifest import Platform

PLATFORM = Platform(MANIFEST, FeishuAccount)
