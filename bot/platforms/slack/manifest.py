"""The manifest of Slack; finer limits of single methods are in `method_limits`."""

from __future__ import annotations

from bot.platforms.manifest import Budget, Manifest, Operation, Scope
from bot.platforms.setup import SetupGuide
from bot.texts import CommandForms

_RATES = "docs.slack.dev/apis/web-api/rate-limits"

MANIFEST = Manifest(
    platform="slack",
    title="Slack",
    adapter="bot.platforms.slack.adapter:create",
    extra="slack",
    api_root="https://slack.com/api/",
    members_only=True,
    noisy_loggers=("slack_bolt", "slack_sdk"),
    message_threads=True,
    activity="the agent session (`agents.sessions.setStatus`), or a status line "
    "(`assistant.threads.setStatus`)",
    budgets=(
        Budget(
            Scope.CHAT,
            1,
            1.0,
            f"{_RATES}: chat.postMessage, one message per second in a channel",
            frozenset({Operation.POST}),
        ),
        Budget(
            Scope.CHAT,
            1,
            1.0,
            "assistant.threads.setStatus has the same tier as chat.postMessage "
            "(slackapi/java-slack-sdk, MethodsRateLimitTier)",
            frozenset({Operation.TYPING}),
        ),
        Budget(
            Scope.ACCOUNT,
            100,
            60.0,
            f"{_RATES}: chat.appendStream is in tier 4, 100 calls per minute for an app in a workspace; "
            "final answers use chat.stopStream and chat.update",
            frozenset({Operation.EDIT}),
        ),
        Budget(
            Scope.ACCOUNT,
            20,
            60.0,
            f"{_RATES}: reactions.remove is in tier 2, 20 calls per minute; reactions.add in tier 3",
            frozenset({Operation.REACTION}),
        ),
    ),
    first_frame_after=0.7,
    first_frame_characters=30,
    max_file_in=100 * 1024 * 1024,
    max_file_out=100 * 1024 * 1024,
    setup_steps=(
        "Open Slack with the form filled in, select the workspace, press Next, then Create.\n\n{link}\n",
        "On Install App, press Install to your workspace and allow it. Copy the Bot User OAuth Token "
        "(xoxb-…).",
        "On Basic Information, under App-Level Tokens, press Generate Token and Scopes, add the scope "
        "connections:write and press Generate. Copy the token (xapp-…).",
    ),
    write_to_it="In Slack, open the bot under Apps and send it a message. "
    "In a channel, /invite it and mention it.",
    guides={
        "zh": SetupGuide(
            (
                "打开 Slack（内容已填好），选择工作区，点击 Next，再点击 Create。\n\n{link}\n",
                "在 Install App 页面点击 Install to your workspace 并允许，然后复制 Bot User OAuth "
                "Token（xoxb-…）。",
                "在 Basic Information 页面的 App-Level Tokens 下点击 Generate Token and Scopes，添加 "
                "connections:write，点击 Generate，然后复制令牌（xapp-…）。",
            ),
            "在 Slack 的「应用」中打开机器人，给它发一条消息。在频道中使用时，先用 /invite 邀请它，再 @ 它。",
            questions={
                "bot_token": "应用的机器人令牌（xoxb-…）",
                "app_token": "Socket Mode 所用的应用级令牌（xapp-…）",
            },
            person="用户的成员 ID（U…）",
            problems={
                "Slack refuses the bot_token of account {account} ({reason}): install the app again on "
                "Install App and take the Bot User OAuth Token (xoxb-…) from there": "Slack 拒绝了账号 "
                "{account} 的机器人令牌（{reason}）：请在 Install App 页面重新安装应用，并复制那里的 Bot "
                "User OAuth Token（xoxb-…）",
                "Slack refuses the app_token of account {account} ({reason}): generate one with "
                "connections:write on Basic Information, and switch Socket Mode on": "Slack 拒绝了账号 "
                "{account} 的应用级令牌（{reason}）：请在 Basic Information 页面生成带 connections:write 的"
                "令牌，并打开 Socket Mode",
                "the app of account {account} lacks the scope chat:write: add it on OAuth & Permissions "
                "and install the app again": "账号 {account} 的应用缺少权限 chat:write：请在 OAuth & "
                "Permissions 页面添加它，然后重新安装应用",
                "the app lacks the scopes {names}: add them on OAuth & Permissions and install the app "
                "again": "应用缺少权限 {names}：请在 OAuth & Permissions 页面添加，然后重新安装应用",
                "cannot reach Slack ({reason})": "无法连接 Slack（{reason}）",
                "Slack answers: {reason}": "Slack 返回：{reason}",
                "expected the bot token (xoxb-…); this is the app-level token (xapp-…)": "这里应填写机器人"
                "令牌（xoxb-…）；你填写的是应用级令牌（xapp-…）",
                "expected the app-level token (xapp-…); this is a bot or user token": "这里应填写应用级令牌"
                "（xapp-…）；你填写的是机器人或用户令牌",
            },
        )
    },
    setup="bot.platforms.slack.setup:SETUP",
    # Slack treats every message that starts with a slash as a command of its own or of an app, and refuses
    # app commands in threads (docs.slack.dev/interactivity/implementing-slash-commands).
    commands=CommandForms(
        private="/roebot {name}{rest}",
        group="/roebot {name}{rest}",
        thread="@{bot} /{name}{rest}",
        decision="{name}{rest}",
    ),
)
