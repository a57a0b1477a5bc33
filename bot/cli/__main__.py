"""`python -m bot.cli` is `roebot`."""

from bot.cli import main

main()
