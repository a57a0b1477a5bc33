"""A week of a team with the bot, on a virtual clock: see `docs/decisions/the-simulated-week.md`."""
