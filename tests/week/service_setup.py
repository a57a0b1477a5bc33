"""The service of the real minutes: its configuration, its tools, and who may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.harness.service import MODEL
from tests.harness.wires import Wire

IN_PRIVATE, COMMANDER, PLANNER, IN_GROUP = (1, 2), 3, 4, 5
APPROVER, EDITOR, SENDER, ADMIN = 6, 7, 8, 9
STRANGER, BLOCKED = 10, 11
"""The people of each platform, by number: what each of them does."""
MEMBERS = (*IN_PRIVATE, COMMANDER, PLANNER, IN_GROUP, APPROVER, EDITOR, SENDER)
TOOLS = '''
def _write(word: str) -> str:
    with open("{ledger}", "a") as ledger:
        ledger.write(word + "\\n")
    return "done"


def pay(word: str) -> str:
    """Pay."""
    return _write(word)


def note(word: str) -> str:
    """Note a word."""
    return _write(word)
'''


@dataclass(frozen=True, slots=True)
class Ledger:
    """The words that tools wrote down as they ran."""

    path: Path

    def count(self, word: str) -> int:
        """How often a tool ran with this word."""
        return self.path.read_text().split("\n").count(word) if self.path.exists() else 0


def furnished(home: Path) -> Ledger:
    """Give a home its tools; what they write down."""
    home.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(home / "ledger")
    (home / "paying.py").write_text(TOOLS.format(ledger=ledger.path))
    return ledger


def config(wires: Mapping[str, Wire]) -> str:
    """The configuration: only who is named is let in, and `pay` waits for a person."""
    entries = "".join(f"  {name}: {{{wire.entry}}}\n" for name, wire in wires.items())
    return f"""
config_version: 1
{MODEL}
server: {{port: 0}}
tools:
  - {{name: pay, group: money, use: "paying:pay"}}
  - {{name: note, group: money, use: "paying:note"}}
guardrails: {{enabled: true, provider: {{ask: [pay]}}}}
channels:
{entries}
access:
  default: closed
  admins: [{_people(wires, ADMIN)}]
  members: [{_people(wires, *MEMBERS)}]
  blocked: [{_people(wires, BLOCKED)}]
"""


def _people(wires: Mapping[str, Wire], *numbers: int) -> str:
    return ", ".join(f'"{name}:{wire.person(one)}"' for name, wire in wires.items() for one in numbers)
