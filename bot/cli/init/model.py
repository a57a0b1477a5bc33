"""Model step of `roebot init`, used if the configuration names no model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from bot.cli.doctor import models
from bot.cli.prompts import agreed, ask, ask_secret
from bot.config.add import MODE, escaped, with_model

MODULE = "agent.models.discovery"
OFFER_SECONDS = 30.0
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Choice:
    """Chosen model: its display name and its configuration entry, None if it works without one."""

    label: str
    entry: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret: bool = False


def choose() -> Choice | None:
    """Ask for one of the available models and test it. Returns None if none are known."""
    offers = _offers()
    if not offers:
        return None
    print("\nWhich model answers? The configuration names none. Here are:\n")
    for number, offer in enumerate(offers, 1):
        print(f"  {number}  {_line(offer)}")
    print()
    while True:
        chosen = _numbered(offers)
        if chosen is offers[0]:
            return Choice(chosen["label"])
        entry = _with_key(chosen)
        if chosen["name"] == LOCAL or _answers(entry):
            return Choice(chosen["label"], entry, secret=not chosen["here"])


def _offers() -> Sequence[Mapping[str, Any]]:
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", MODULE],
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
        return f"{offer['label']}, with a key of yours"
    return str(offer["label"]) + (f", by ${offer['variable']}" if offer["variable"] else "")


def _numbered(offers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    while True:
        given = ask("Its number, or Enter for 1: ", "1")
        if given.isdigit() and 0 < int(given) <= len(offers):
            return offers[int(given) - 1]
        print(f"That is not a number from 1 to {len(offers)}.")


def _with_key(offer: Mapping[str, Any]) -> Mapping[str, Any]:
    entry = dict(offer["entry"])
    if not offer["here"]:
        entry["api_key"] = escaped(ask_secret(f"The key ({offer['variable']}): "))
    return entry


def _answers(entry: Mapping[str, Any]) -> bool:
    """Return True if the model answers a test prompt, or the user wants it anyway."""
    print("Asking the model …", flush=True)
    with TemporaryDirectory(prefix="roebot-init-") as folder:
        path = Path(folder) / "config.yaml"
        path.touch(mode=MODE)
        path.write_text(with_model("", path.name, entry), encoding="utf-8")
        findings = list(models.here(path))
    for finding in findings:
        print(finding.text)
    return all(finding.good is not False for finding in findings) or agreed(
        "Take it all the same?", default=False
    )
