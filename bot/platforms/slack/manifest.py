"""Slack as data."""

from __future__ import annotations

from bot.platforms.base import Budget, Manifest, Operation, Scope

_RATES = "docs.slack.dev/apis/web-api/rate-limits"

MANIFEST = Manifest(
    platform="slack",
    title="Slack",
    adapter="bot.platforms.slack.adapter:create",
    extra="slack",
    budgets=(
        Budget(
            Scope.CHAT,
            1,
            1.0,
            f"{_RATES}: chat.postMessage, one message a second in a channel",
            frozenset({Operation.POST}),
        ),
        Budget(
            Scope.CHAT,
            1,
            1.0,
            "assistant.threads.setStatus has the tier of chat.postMessage "
            "(slackapi/java-slack-sdk, MethodsRateLimitTier)",
            frozenset({Operation.TYPING}),
        ),
        Budget(
            Scope.ACCOUNT,
            100,
            60.0,
            f"{_RATES}: chat.appendStream is of tier 4, 100 calls a minute for an app in a workspace; "
            "finals use chat.stopStream and chat.update",
            frozenset({Operation.EDIT}),
        ),
    ),
    first_frame_after=0.7,
    first_frame_characters=30,
    max_file_in=100 * 1024 * 1024,
    max_file_out=100 * 1024 * 1024,
    setup_steps=(
        "Open https://api.slack.com/apps, choose Create New App, From a manifest, and pick the workspace.",
        "Paste the manifest below, then press Create.",
        "On Basic Information, under App-Level Tokens, generate a token with the scope connections:write; "
        "put it (xapp-…) into the environment as SLACK_APP_TOKEN.",
        "On Install App, install it to the workspace; put the Bot User OAuth Token (xoxb-…) into the "
        "environment as SLACK_BOT_TOKEN.",
        "Add `slack: {bot_token: $SLACK_BOT_TOKEN, app_token: $SLACK_APP_TOKEN}` to channels in config.yaml.",
        "Start the service, write to the app in Slack, or invite it to a channel and mention it.",
    ),
)
"""What the core knows of Slack before its SDK is loaded; the finer budgets of methods are the adapter's."""
