"""The platform's part of `roebot init`: setup steps, and links that replace some of them."""

from __future__ import annotations

import shutil
import sys

from bot.app.accounts import load_setup
from bot.cli.common import run_loop
from bot.cli.init.prompts import Prompts
from bot.cli.init.qr_code import draw_code
from bot.cli.manifest import number_lines
from bot.config import AccountConfig
from bot.errors import AccountError
from bot.platforms.manifest import Manifest
from bot.platforms.setup import CreatedApp, CreatesApp, InvitesBot, LinksToSetup, SetupGuide
from bot.texts import Texts

APP_NAME = "Roebot"


class PlatformSetup:
    """Prints a platform's setup guide. Steps are numbered consecutively."""

    def __init__(self, manifest: Manifest, texts: Texts) -> None:
        self.manifest = manifest
        self.guide: SetupGuide = manifest.guide(texts.locale)
        self._title = manifest.title_in(texts.locale)
        self._texts = texts
        self._helper = load_setup(manifest)

    @property
    def first_later_step(self) -> int:
        """The number of the first step after the connection."""
        return len(self.guide.setup_steps) + bool(self.guide.invite_step) + 1

    @property
    def last_later_step(self) -> int:
        """The number of the last step after the connection."""
        return self.first_later_step + len(self.guide.later_steps) - 1

    def create_app(self, base_url: str, prompts: Prompts) -> CreatedApp | None:
        """Offer to create the app; return None if the person creates it by hand."""
        if not isinstance(self._helper, CreatesApp):
            return None
        offer = self._texts("setup_create", title=self._title)
        while prompts.confirm(f"\n{offer}", default=True):
            try:
                created = run_loop(self._helper.create_app(APP_NAME, base_url, self._show_page))
            except AccountError as problem:
                offer = f"{problem}.\n{self._texts('setup_try_again')}"
            else:
                print(self._texts("setup_created"))
                return created
        return None

    def _show_page(self, link: str, seconds: float) -> None:
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        code = draw_code(link, columns)
        words = self._texts("setup_scan" if code else "setup_open", title=self._title, minutes=seconds / 60)
        print("\n" + "\n\n".join(filter(None, (words, code, link))) + "\n", flush=True)

    def print_steps(self) -> None:
        """Print the steps that precede the credentials."""
        link = self._helper.setup_link() if isinstance(self._helper, LinksToSetup) else ""
        print("\n" + self._texts("setup_heading", title=self._title) + "\n")
        steps = [step.replace("{link}", link) for step in self.guide.setup_steps]
        print("\n".join(number_lines(steps)))
        if link:
            print("\n" + self._texts("setup_manifest", platform=self.manifest.platform))

    def print_invite(self, account: AccountConfig) -> None:
        """Print the step that invites the bot, for platforms with such a step."""
        if not self.guide.invite_step or not isinstance(self._helper, InvitesBot):
            return
        try:
            link = run_loop(self._helper.invite_link(account))
        except AccountError as problem:  # the account itself was accepted a moment ago
            print(f"{problem}")
            link = run_loop(self._helper.invite_link(None))
        step = self.guide.invite_step.replace("{link}", link)
        print("\n" + self._texts("setup_invite") + "\n")
        print("\n".join(number_lines([step], len(self.guide.setup_steps) + 1)))

    def print_later_steps(self) -> None:
        """Print the steps that need a connected account."""
        if self.guide.later_steps:
            print("\n" + self._texts("setup_later_steps") + "\n")
            print("\n".join(number_lines(self.guide.later_steps, self.first_later_step)))
