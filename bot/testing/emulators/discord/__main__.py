"""Entry point of `python -m bot.testing.emulators.discord`."""

import sys

from bot.testing.emulators.cli import main

if __name__ == "__main__":
    sys.exit(main("discord"))
