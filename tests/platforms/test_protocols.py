"""Which optional protocols each platform must implement, written down by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.app.accounts import load_factory, load_manifest
from bot.config.platforms import built_in_platforms
from roebot_testing.conformance import implements, optional_protocols

TABLE = """
                  web  terminal  telegram  slack  feishu  discord
EditsMessages      x      x         x        x      x        x
DeletesMessages    x      x         x        x      x        x
RepeatsSafely      x      x         .        x      x        x
ShowsAlone         .      .         .        x      .        x
RemembersPeople    .      .         x        .      .        .
ShowsTyping        x      x         x        x      .        x
EndsTyping         .      .         .        x      .        .
Reacts             .      .         x        x      x        x
StreamsDrafts      .      .         x        .      .        .
ChoosesFrames      .      .         x        .      .        .
StreamsNatively    .      .         .        x      x        x
AsksChoice         x      .         x        x      x        x
MentionsByName     .      .         x        x      x        x
ShowsProgress      .      .         .        x      x        .
SendsFiles         x      x         x        x      x        x
FetchesFiles       x      x         x        x      x        x
ReadsThreads       .      .         .        x      x        x
DescribesChats     .      .         x        x      x        x
ListsMembers       .      .         .        x      x        .
RegistersCommands  .      .         x        .      .        x
ReceivesWebhooks   .      .         x        x      x        .
VerifiesSignatures .      .         .        x      x        .
"""
HEAD, *LINES = [line.split() for line in TABLE.strip().splitlines()]
MUST = {name: dict(zip(HEAD, marks, strict=True)) for name, *marks in LINES}


def test_every_protocol_and_every_platform_is_in_the_table() -> None:
    assert list(MUST) == [protocol.__name__ for protocol in optional_protocols()]
    assert set(HEAD) == set(built_in_platforms())


@pytest.mark.parametrize("platform", HEAD)
def test_a_platform_implements_what_it_must(platform: str) -> None:
    account = built_in_platforms()[platform](name=platform, platform=platform)
    adapter = load_factory(load_manifest(platform))(platform, account)
    found = {protocol.__name__: implements(adapter, protocol) for protocol in optional_protocols()}
    assert found == {name: marks[platform] == "x" for name, marks in MUST.items()}


@pytest.mark.may_block
def test_the_rest_of_the_testing_package_needs_no_pytest() -> None:
    modules = ("adapter", "clock", "inbox", "running", "runtime", "emulators.telegram")
    code = "import sys; " + "; ".join(f"import roebot_testing.{name}" for name in modules)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('pytest' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False"]
