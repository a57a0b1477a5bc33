"""An account's guided setup: its steps as data, and protocols that automate some of them.

A manifest names an object that implements any of the protocols (`Manifest.setup`). Its module imports no SDK.

`roebot init` opens no browser, because it often runs on a server. An owner is stored per account (`team:8`),
since the same id can belong to someone else in another workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from bot.config.accounts import AccountConfig
from bot.texts.translation import compile_templates, translate_sentence
from bot.texts.zh_problems import PROBLEMS


@dataclass(frozen=True, slots=True)
class SetupGuide:
    """The guided setup in one language; the fields are described in `Manifest`.

    `questions` ask for keys of the account, and `person` describes a person's id; they translate the texts of
    the account's schema. `title` is the platform's name where it is another one. `problems` translate what
    the adapter and the schema report: English sentences, with fields in braces for any text.
    """

    setup_steps: tuple[str, ...]
    write_to_it: str
    invite_step: str = ""
    later_steps: tuple[str, ...] = ()
    questions: Mapping[str, str] = field(default_factory=dict)
    person: str = ""
    title: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


def translate_problem(text: str, locale: str, *guides: SetupGuide) -> str:
    """Return a problem of accounts or models in a language; `guides` are those of their platforms."""
    if locale != "zh":
        return text
    known = [template for guide in guides for template in compile_templates(guide.problems)]
    return translate_sentence(text, [*known, *compile_templates(PROBLEMS)])


@runtime_checkable
class LinksToSetup(Protocol):
    """Provides a page on which the platform creates the app with all settings filled in."""

    def setup_link(self) -> str:
        """Return the address of the page."""
        ...


@runtime_checkable
class PrintsAppManifest(Protocol):
    """Provides a document to paste on the platform, as an alternative way to create the app."""

    def app_manifest(self) -> str:
        """Return the document."""
        ...


@runtime_checkable
class InvitesBot(Protocol):
    """Provides a link that adds the bot to a place on the platform."""

    async def invite_link(self, account: AccountConfig | None) -> str:
        """Return the link; without an account, it has a placeholder. Raises AccountError."""
        ...


@dataclass(frozen=True, slots=True)
class CreatedApp:
    """An app created by the platform: keys of its account, and its owner's id ("" if unknown)."""

    settings: Mapping[str, str] = field(repr=False)
    owner: str = ""


@runtime_checkable
class CreatesApp(Protocol):
    """Creates the app once a person has confirmed it on a page that they open or scan."""

    async def create_app(self, name: str, base_url: str, show: Callable[[str, float], None]) -> CreatedApp:
        """Create an app called `name`, and wait for the person.

        `show` gets the link and the seconds until it expires. Raises AccountError.
        """
        ...
