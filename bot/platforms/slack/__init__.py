"""Slack: Socket Mode or signed requests in, native streams out."""

from bot.platforms.manifest import Platform
from bot.platforms.slack.account import SlackAccount
from bot.platforms.slack.manifest import MANIFEST

PLATFORM = Platform(MANIFEST, SlackAccount)
