"""Terminal prompts in the user's language."""

from __future__ import annotations

from collections.abc import Mapping

from bot.cli import common
from bot.texts import Texts, find_language


def find_locale(environ: Mapping[str, str]) -> str:
    """Return the terminal's language if it is available, from the first of its variables that is set
    (locale(7)).
    """
    names = (environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return find_language(next(filter(None, names), ""))


class Prompts:
    """Prompts in one language. Raises StartError if the input ends before an answer."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    def ask(self, text: str, default: str | None = None, *, ended: str | None = None) -> str:
        """Read a line; `default` if it is empty, and `ended` at the end of input."""
        return common.ask(text, default, ended=ended, complaint=self.texts("setup_ended"))

    def ask_secret(self, text: str) -> str:
        """Read a line without echoing it."""
        return common.ask_secret(text, complaint=self.texts("setup_ended"))

    def confirm(self, text: str, *, default: bool) -> bool:
        """Ask a yes/no question. The end of input means no."""
        return common.confirm(text, default=default, again=self.texts("setup_yes_or_no"))

    def question(self, question: str, default: str | None = None) -> str:
        """Return the prompt for a value."""
        if default is None:
            return self.texts("setup_prompt", question=question)
        return self.texts("setup_default_prompt", question=question, default=default)
