"""Questions of `roebot init` about the model and the owner."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from agent.shared.text import replace_unprintable, shorten
from bot.cli.common import run_loop
from bot.cli.connect_probe import wait_for_writer
from bot.cli.init.platform_setup import PlatformSetup
from bot.cli.init.prompts import Prompts
from bot.cli.model_setup import check_model, list_model_offers
from bot.config import AccountConfig
from bot.config.changes import ConnectModel
from bot.domain import InboundMessage
from bot.texts import Texts

LOCAL = "local"
LATER = "later"
WAIT_SECONDS = 600.0
SHOWN = 60


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Chosen model, with its display name and the change that adds it (None if it needs no entry).

    `offers` are the entries of models by provider. `variable` is the environment variable that its key comes
    from, "" for none.
    """

    label: str
    change: ConnectModel | None = None
    offers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variable: str = ""


def choose_model(prompts: Prompts) -> ModelChoice | None:
    """Ask for one of the available models and test it. Return None if none is known."""
    offers = list_model_offers()
    if not offers:
        return None
    print("\n" + prompts.texts("setup_models") + "\n")
    for number, offer in enumerate(offers, 1):
        print(f"  {number}  {_line(offer, prompts.texts)}")
    print()
    entries = {offer["name"]: offer["entry"] for offer in offers}
    while True:
        chosen = _numbered(offers, prompts)
        if chosen is offers[0]:
            return ModelChoice(chosen["label"], variable=chosen["variable"])
        change = _with_key(chosen, prompts)
        if chosen["name"] == LOCAL or _answers(change, chosen, prompts):
            variable = chosen["variable"] if chosen["here"] else ""
            return ModelChoice(chosen["label"], change, entries, variable)


def _line(offer: Mapping[str, Any], texts: Texts) -> str:
    if not offer["here"]:
        return texts("setup_model_needs_key", label=offer["label"])
    if offer["variable"]:
        return texts("setup_model_from", label=offer["label"], variable=offer["variable"])
    return str(offer["label"])


def _numbered(offers: Sequence[Mapping[str, Any]], prompts: Prompts) -> Mapping[str, Any]:
    while True:
        answer = prompts.ask(prompts.texts("setup_model_number"), "1")
        if answer.isdigit() and 0 < int(answer) <= len(offers):
            return offers[int(answer) - 1]
        print(prompts.texts("setup_model_range", last=len(offers)))


def _with_key(offer: Mapping[str, Any], prompts: Prompts) -> ConnectModel:
    key = None
    if not offer["here"]:
        key = SecretStr(prompts.ask_secret(prompts.texts("setup_api_key", variable=offer["variable"])))
    name = offer["name"]
    return ConnectModel(name=name, provider=name, model=offer["entry"]["model"], api_key=key)


def _answers(change: ConnectModel, offer: Mapping[str, Any], prompts: Prompts) -> bool:
    """Return whether the model answers a test prompt, or the user chooses it anyway."""
    print(prompts.texts("setup_model_testing"), flush=True)
    key = change.api_key.get_secret_value() if change.api_key else os.environ.get(offer["variable"], "")
    entry = {**offer["entry"], **({"api_key": key} if key else {})}
    found = check_model(entry, probe=True, locale=prompts.texts.locale)
    if found.answers:
        return True
    print(found.detail or found.problem)
    return prompts.confirm(prompts.texts("setup_model_anyway"), default=False)


@dataclass(frozen=True, slots=True)
class OwnerAnswer:
    """The owner's platform id ("" if unknown), and whether they have already messaged the bot."""

    person: str = ""
    wrote: bool = False


def find_owner(account: AccountConfig, identity: str, setup: PlatformSetup, prompts: Prompts) -> OwnerAnswer:
    """Ask for the owner."""
    texts, person = prompts.texts, setup.guide.person or account.person_words
    setup.print_later_steps()
    print("\n" + texts("setup_owner", identity=identity, person=person) + "\n")
    while answer := prompts.ask(texts("setup_owner_prompt"), "", ended=LATER):
        if answer.lower() == LATER:
            return OwnerAnswer()
        if re.fullmatch(account.person_pattern, answer):
            return OwnerAnswer(answer)
        print(texts("setup_not_a_person", person=person))
    print(f"\n{setup.guide.write_to_it}")
    return _wait_for_owner(account, identity, prompts)


def _wait_for_owner(account: AccountConfig, identity: str, prompts: Prompts) -> OwnerAnswer:
    texts, skipped = prompts.texts, list[str]()

    def ready() -> None:
        print(texts("setup_waiting", identity=identity), flush=True)

    while True:
        message = run_loop(wait_for_writer(account, WAIT_SECONDS, ready, skipped))
        if message is None:
            print(texts("setup_no_message", minutes=WAIT_SECONDS / 60))
            return OwnerAnswer()
        wrote = texts("setup_wrote", who=_who(message, texts), text=_printable(message.text))
        if prompts.confirm(wrote, default=False):
            return OwnerAnswer(message.origin.sender.id, wrote=True)
        skipped.append(message.event_id)
        if not prompts.confirm(texts("setup_wait_again"), default=True):
            return OwnerAnswer()


def _who(message: InboundMessage, texts: Texts) -> str:
    sender = message.origin.sender
    return f"{_printable(sender.name or sender.username or texts('setup_somebody'))} ({sender.id})"


def _printable(text: str) -> str:
    """Shorten untrusted text to one line without terminal control characters."""
    return shorten(replace_unprintable(text, " "), SHOWN)
