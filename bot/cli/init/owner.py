"""Owner step of `roebot init`: by id, or by the first message to the bot."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.cli.common import run_loop
from bot.cli.connect_probe import first_writer
from bot.cli.manifest import numbered
from bot.cli.prompts import agreed, ask
from bot.config import AccountConfig
from bot.domain import InboundMessage
from bot.platforms.base import Manifest

LATER = "later"
WAIT_SECONDS = 600.0
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Known:
    """The bot's owner as an access entry ("" for none yet), and if they have written to it already."""

    owner: str = ""
    wrote: bool = False


def owner_of(account: AccountConfig, identity: str, manifest: Manifest) -> Known:
    """Ask for the owner."""
    if manifest.later_steps:
        print("\nThese steps are taken there only while the bot is connected: after Enter below, or while")
        print("the service runs.\n")
        print("\n".join(numbered(manifest.later_steps, len(manifest.setup_steps) + 1)))
    print(f"\nWho is the owner of the bot?\n\n  Enter  write to {identity} in private now, and be found")
    print(f"  ID     {account.person_words}, if you know your own")
    print("  later  the bot gives you a code when you write to it\n")
    while given := ask("Enter, an id, or later: ", "", ended=LATER):
        if given.lower() == LATER:
            return Known()
        if re.fullmatch(account.person_pattern, given):
            return Known(f"{account.platform}:{given}")
        print(f"That is not {account.person_words}. Type later if you do not know it.")
    return _found(account, identity, manifest)


def _found(account: AccountConfig, identity: str, manifest: Manifest) -> Known:
    passed: list[str] = []
    print(f"\n{manifest.write_to_it}")

    def ready() -> None:
        print(f"Waiting for a message to {identity} …", flush=True)

    while True:
        heard = run_loop(first_writer(account, WAIT_SECONDS, ready, passed))
        if heard is None:
            print(f"Nobody wrote within {WAIT_SECONDS / 60:.0f} minutes: the bot will give you a code.")
            return Known()
        sender = heard.origin.sender
        owner = f"{account.platform}:{sender.id}"
        if agreed(f"{_who(heard)} wrote: {_shown(heard.text)}\nIs that you?", default=False):
            return Known(owner, wrote=True)
        passed.append(heard.event_id)
        if not agreed("Wait for another message?", default=True):
            return Known()


def _who(heard: InboundMessage) -> str:
    sender = heard.origin.sender
    return f"{_shown(sender.name or sender.username or 'Somebody')} ({sender.id})"


def _shown(text: str) -> str:
    """Shorten untrusted text to one line without terminal control characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= SHOWN else f"{plain[: SHOWN - 1]}…"
