"""The page on which Slack creates the app from Roebot's manifest."""

from __future__ import annotations

from bot.platforms.slack.app_manifest import creation_link, document


class SlackSetup:
    """Links to the page that creates the app."""

    def setup_link(self) -> str:
        """Return the address of the page, which contains the whole manifest."""
        return creation_link()

    def app_manifest(self) -> str:
        """Return the manifest to paste if the link does not work."""
        return document()


SETUP = SlackSetup()
