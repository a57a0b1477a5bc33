"""A platform as data: its entry in the entry point group `roebot.platforms`, without its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bot.config.accounts import AccountConfig
from bot.domain import ChatKind
from bot.platforms.setup import SetupGuide
from bot.texts import CommandForms


class Operation(StrEnum):
    """A kind of call, as counted by budgets. FINAL is an edit or deletion that completes a part."""

    POST = "post"
    EDIT = "edit"
    FINAL = "final"
    TYPING = "typing"
    DRAFT = "draft"
    REACTION = "reaction"


class Scope(StrEnum):
    """The scope of a budget."""

    ACCOUNT = "account"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Budget:
    """At most `count` calls of these operations in any `period` (seconds), for each scope.

    `kinds` narrows a chat budget to chats of these kinds; `source` names where the number is published.
    Frames, typing and reactions leave `reserve` calls to those that must be made: as many as a final needs
    that would otherwise wait long, 0 where finals have their own budget or the period is short.

    `burst`: number of calls that may come at once after a pause, with one in each `period` from then on (for
    a `count` of 1); 0 if the platform does not allow that. Frames leave one of them to finals. `fixed`: the
    period begins with a call and ends for all of them together, instead of sliding.
    """

    scope: Scope
    count: int
    period: float
    source: str
    operations: frozenset[Operation] = frozenset(Operation)
    kinds: frozenset[ChatKind] = frozenset(ChatKind)
    reserve: int = 0
    burst: int = 0
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Manifest:
    """A platform as data; its SDK is loaded only when an account of it is enabled.

    `adapter` is the import string of the factory, called with the account's name and its configuration entry.
    `first_frame_after` and `frame_interval` are seconds; `max_file_in` and `max_file_out` are bytes. Frames
    follow the budgets; `frame_interval` is the minimum distance where no budget limits them. `confirms`: the
    platform waits for an acknowledgement of each message and repeats those without. `commands` are the ways
    to type a command there.

    The guided setup consists of `setup_steps` before the credentials are entered (`{link}` in them is that of
    `LinksToSetup`), `invite_step` once they are accepted (`{link}` is that of `InvitesBot`), `later_steps`
    that need a connected account, and `write_to_it`. `guides` has it in other languages. `setup` is the
    import string of an object that helps with it (`bot.platforms.setup` has the protocols).

    `api_root` is an address of the platform that answers anybody; its clock is compared with this machine's.
    `members_only`: only members of the account's organization can write to the bot. `noisy_loggers` are those
    of the SDK that log secrets or too much below a warning. `activity` says for the reference what people see
    while the agent works. `message_threads`: a message's id is the topic of the thread below it.
    `one_connection`: of several replicas, only one may receive, because it gets all events of the account.
    """

    platform: str
    title: str
    adapter: str
    extra: str
    budgets: tuple[Budget, ...]
    first_frame_after: float = 0.7
    first_frame_characters: int = 30
    frame_interval: float = 0.0
    max_file_in: int = 20 * 1024 * 1024
    max_file_out: int = 50 * 1024 * 1024
    setup_steps: tuple[str, ...] = ()
    invite_step: str = ""
    later_steps: tuple[str, ...] = ()
    confirms: bool = True
    write_to_it: str = "Write to the bot."
    commands: CommandForms = field(default_factory=CommandForms)
    guides: Mapping[str, SetupGuide] = field(default_factory=dict)
    setup: str = ""
    api_root: str = ""
    members_only: bool = False
    noisy_loggers: tuple[str, ...] = ()
    activity: str = ""
    message_threads: bool = False
    one_connection: bool = False

    def guide(self, locale: str) -> SetupGuide:
        """Return the setup guide in a language, or in English if it is not translated."""
        english = SetupGuide(self.setup_steps, self.write_to_it, self.invite_step, self.later_steps)
        return self.guides.get(locale, english)

    def title_in(self, locale: str) -> str:
        """Return the platform's name in a language."""
        return self.guide(locale).title or self.title


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform, as registered by its package in the entry point group `roebot.platforms`.

    The entry point has the platform's name. Its module imports no SDK; that of `manifest.adapter` may.
    `account` is the schema of an account's entry in `channels`. `guide` is a page in Markdown for the people
    who connect an account, beyond the manifest's steps.
    """

    manifest: Manifest
    account: type[AccountConfig]
    guide: str = ""
