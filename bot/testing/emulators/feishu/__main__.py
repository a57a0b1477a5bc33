"""Entry point of `python -m bot.testing.emulators.feishu`."""

import sys

from bot.testing.emulators.cli import main

if __name__ == "__main__":
    sys.exit(main("feishu"))
