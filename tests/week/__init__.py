"""A week of a team with the bot, on a virtual clock: see `docs/decisions/simulate-a-week.md`."""
