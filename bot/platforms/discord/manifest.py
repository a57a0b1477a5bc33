"""The manifest of Discord."""

from __future__ import annotations

from bot.platforms.base import Budget, Manifest, Operation, Scope

_RATES = "docs.discord.com/developers/topics/rate-limits"
_HEADERS = (
    f"{_RATES} gives no figure per route, but the headers do: 5 in 5 s for messages and edits in a channel "
    "(discord/discord-api-docs#20, javacord.org/wiki/advanced-topics/ratelimits)"
)
_POSTS = frozenset({Operation.POST})
_EDITS = frozenset({Operation.EDIT, Operation.FINAL})
_TYPING = frozenset({Operation.TYPING})

MANIFEST = Manifest(
    platform="discord",
    title="Discord",
    adapter="bot.platforms.discord.adapter:create",
    extra="discord",
    budgets=(
        Budget(Scope.CHAT, 5, 5.0, _HEADERS, operations=_POSTS),
        Budget(Scope.CHAT, 5, 5.0, _HEADERS, operations=_EDITS),
        Budget(Scope.CHAT, 5, 5.0, _HEADERS, operations=_TYPING),
        # Calls that have to be made come from all channels at once.
        Budget(Scope.ACCOUNT, 50, 1.0, f"{_RATES}#global-rate-limit", reserve=5),
    ),
    first_frame_after=0.7,
    first_frame_characters=30,
    max_file_in=20 * 1024 * 1024,
    max_file_out=10 * 1024 * 1024,
    confirms=False,
    setup_steps=(
        "Open https://discord.com/developers/applications, press New Application and give it a name.",
        "On the Bot page, press Reset Token and copy the token; Discord shows it only once.",
        "On the same page, under Privileged Gateway Intents, switch on Message Content Intent and save.",
        "On the General Information page, copy the Application ID. Put it in place of APPLICATION_ID in "
        "https://discord.com/oauth2/authorize?client_id=APPLICATION_ID&scope=bot+applications.commands"
        "&permissions=274878008320 — this link grants only View Channels, Send Messages, Send Messages in "
        "Threads, Attach Files and Read Message History.",
        "Open that link, choose your server and press Authorize. This requires Manage Server permission.",
    ),
    write_to_it="In Discord, click the bot in your server's member list and send it a direct message; "
    "in a channel, mention it.",
)
