"""`roebot` on a Telegram that shows no typing: `python -m tests.benchmarks.service_without_typing run …`."""

from __future__ import annotations

from bot.cli import main
from bot.platforms.telegram.adapter import TelegramAdapter

if __name__ == "__main__":
    del TelegramAdapter.typing
    main()
