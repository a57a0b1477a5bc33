"""Questions of `roebot init` about the model and the owner."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from bot.cli.common import ask, ask_secret, confirm, run_loop
from bot.cli.connect_probe import wait_for_writer
from bot.cli.doctor.agent import check_local_models
from bot.cli.manifest import number_lines
from bot.config import AccountConfig
from bot.config.add import MODE, escaped, with_model
from bot.domain import InboundMessage
from bot.platforms.base import Manifest

DISCOVERY_MODULE = "agent.models.discovery"
OFFER_SECONDS = 30.0
LOCAL = "local"
LATER = "later"
WAIT_SECONDS = 600.0
SHOWN = 60


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Chosen model, with its display name and its configuration entry (empty if it needs none)."""

    label: str
    entry: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret: bool = False


def choose_model() -> ModelChoice | None:
    """Ask for one of the available models and test it. Returns None if none are known."""
    offers = _offers()
    if not offers:
        return None
    print("\nNo model is configured yet. Choose the model that answers:\n")
    for number, offer in enumerate(offers, 1):
        print(f"  {number}  {_line(offer)}")
    print()
    while True:
        chosen = _numbered(offers)
        if chosen is offers[0]:
            return ModelChoice(chosen["label"])
        entry = _with_key(chosen)
        if chosen["name"] == LOCAL or _answers(entry):
            return ModelChoice(chosen["label"], entry, secret=not chosen["here"])


def _offers() -> Sequence[Mapping[str, Any]]:
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", DISCOVERY_MODULE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=OFFER_SECONDS,
            check=False,
        )
        found: Sequence[Mapping[str, Any]] = orjson.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return []
    return found


def _line(offer: Mapping[str, Any]) -> str:
    if not offer["here"]:
        return f"{offer['label']} (requires an API key)"
    return str(offer["label"]) + (f", from ${offer['variable']}" if offer["variable"] else "")


def _numbered(offers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    while True:
        answer = ask("Number (Enter for 1): ", "1")
        if answer.isdigit() and 0 < int(answer) <= len(offers):
            return offers[int(answer) - 1]
        print(f"Enter a number from 1 to {len(offers)}.")


def _with_key(offer: Mapping[str, Any]) -> Mapping[str, Any]:
    entry = dict(offer["entry"])
    if not offer["here"]:
        entry["api_key"] = escaped(ask_secret(f"API key ({offer['variable']}): "))
    return entry


def _answers(entry: Mapping[str, Any]) -> bool:
    """Return True if the model answers a test prompt, or the user wants it anyway."""
    print("Testing the model…", flush=True)
    with TemporaryDirectory(prefix="roebot-init-") as folder:
        path = Path(folder) / "config.yaml"
        path.touch(mode=MODE)
        path.write_text(with_model("", path.name, entry), encoding="utf-8")
        findings = list(check_local_models(path))
    for finding in findings:
        print(finding.text)
    return all(finding.good is not False for finding in findings) or confirm("Use it anyway?", default=False)


@dataclass(frozen=True, slots=True)
class OwnerAnswer:
    """The owner's id on the platform ("" if unknown), and whether they have already written to the bot."""

    person: str = ""
    wrote: bool = False


def find_owner(account: AccountConfig, identity: str, manifest: Manifest) -> OwnerAnswer:
    """Ask for the owner."""
    if manifest.later_steps:
        print("\nThese steps only work while the bot is connected. Complete them after pressing Enter below,")
        print("or while the service is running.\n")
        print("\n".join(number_lines(manifest.later_steps, len(manifest.setup_steps) + 1)))
    print(
        f"\nWho is the bot's owner?\n\n  Enter  identify yourself by sending {identity} a private message now"
    )
    print(f"  ID     {account.person_words}, if you know yours")
    print("  later  the bot sends you a code when you write to it\n")
    while answer := ask("Press Enter, or type your id or later: ", "", ended=LATER):
        if answer.lower() == LATER:
            return OwnerAnswer()
        if re.fullmatch(account.person_pattern, answer):
            return OwnerAnswer(answer)
        print(f"This is not {account.person_words}. If you don't know it, type later.")
    return _wait_for_owner(account, identity, manifest)


def _wait_for_owner(account: AccountConfig, identity: str, manifest: Manifest) -> OwnerAnswer:
    skipped: list[str] = []
    print(f"\n{manifest.write_to_it}")

    def ready() -> None:
        print(f"Waiting for a message to {identity}…", flush=True)

    while True:
        message = run_loop(wait_for_writer(account, WAIT_SECONDS, ready, skipped))
        if message is None:
            print(f"No message within {WAIT_SECONDS / 60:.0f} minutes.")
            print("The bot will send you a code when you write to it.")
            return OwnerAnswer()
        sender = message.origin.sender
        if confirm(f"{_who(message)} wrote: {_printable(message.text)}\nIs that you?", default=False):
            return OwnerAnswer(sender.id, wrote=True)
        skipped.append(message.event_id)
        if not confirm("Wait for another message?", default=True):
            return OwnerAnswer()


def _who(message: InboundMessage) -> str:
    sender = message.origin.sender
    return f"{_printable(sender.name or sender.username or 'Someone')} ({sender.id})"


def _printable(text: str) -> str:
    """Shorten untrusted text to one line without terminal control characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= SHOWN else f"{plain[: SHOWN - 1]}…"
