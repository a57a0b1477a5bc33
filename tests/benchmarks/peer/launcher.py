"""nanobot with its Telegram channel at another address: `python launcher.py TELEGRAM_URL ARGUMENTS…`.

The peer's own Python runs this file. Its channel has no setting for the address, so the default of
python-telegram-bot's builder is set before the channel makes one; nothing else of the peer is changed.
"""

import sys

from telegram.ext import ApplicationBuilder

URL = sys.argv.pop(1)
_initialize = ApplicationBuilder.__init__


def _initialize_here(builder: ApplicationBuilder) -> None:
    _initialize(builder)
    builder.base_url(f"{URL}/bot")
    builder.base_file_url(f"{URL}/file/bot")


ApplicationBuilder.__init__ = _initialize_here

if __name__ == "__main__":
    from nanobot.cli.commands import app

    app()
