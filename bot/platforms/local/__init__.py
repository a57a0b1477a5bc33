"""The web console and the terminal as platforms. This service hosts their chats itself."""

from bot.platforms.local.account import TerminalAccount, WebAccount
from bot.platforms.local.manifest import TERMINAL as TERMINAL_MANIFEST
from bot.platforms.local.manifest import WEB as WEB_MANIFEST
from bot.platforms.manifest import Platform

WEB = Platform(WEB_MANIFEST, WebAccount)
TERMINAL = Platform(TERMINAL_MANIFEST, TerminalAccount)
