"""The manifest of Telegram."""

from __future__ import annotations

from bot.domain import ChatKind
from bot.platforms.manifest import Budget, Manifest, Scope
from bot.platforms.setup import SetupGuide
from bot.texts import CommandForms

_FLOOD = "Bot API FAQ, 'My bot is hitting limits' (core.telegram.org/bots/faq)"
_SHARED = (
    f"{_FLOOD}; posts and edits count toward the same limit (tdlib/td#2592, #3034), and so do chat actions "
    "(NousResearch/hermes-agent#107612; python-telegram-bot's AIORateLimiter counts them, too)"
)
_BURSTS = f"{_SHARED}; 'we may allow short bursts that go over this limit', whose length is not published"

MANIFEST = Manifest(
    platform="telegram",
    title="Telegram",
    adapter="bot.platforms.telegram.adapter:create",
    extra="telegram",
    one_connection=True,
    api_root="https://api.telegram.org",
    noisy_loggers=("telegram",),
    activity='"typing …" below the chat\'s name (`sendChatAction`), renewed every 4.5 s',
    budgets=(
        Budget(Scope.CHAT, 1, 1.0, _BURSTS, burst=3),
        # One for the final: the next call would be free in three seconds, or later after a quick beginning.
        Budget(Scope.CHAT, 20, 60.0, _SHARED, kinds=frozenset({ChatKind.GROUP}), reserve=1),
        # Calls that have to be made come from all chats at once.
        Budget(Scope.ACCOUNT, 30, 1.0, _FLOOD, reserve=5),
    ),
    first_frame_after=0.7,
    first_frame_characters=30,
    max_file_in=20 * 1024 * 1024,
    max_file_out=50 * 1024 * 1024,
    setup_steps=(
        "In Telegram, open @BotFather, send /newbot and answer its two questions: the bot's name, and its "
        "username (which ends in bot). Copy the token that it gives you, such as 123456789:AA….",
    ),
    write_to_it="In Telegram, search for the bot's username, press Start and send it a message. In a group, "
    "it receives mentions, replies and commands; privacy mode can stay on. To record a group, turn privacy "
    "mode off with /setprivacy in @BotFather before you add the bot.",
    guides={
        "zh": SetupGuide(
            (
                "在 Telegram 中打开 @BotFather，发送 /newbot 并回答两个问题：机器人的名称和用户名（以 bot "
                "结尾）。复制它给出的令牌，例如 123456789:AA…。",
            ),
            "在 Telegram 中搜索机器人的用户名，点击「开始」并给它发一条消息。在群组中，它会收到提及、回复和"
            "命令，隐私模式可以保持开启。如需记录群聊，请在把它加入群组前，在 @BotFather 中用 /setprivacy "
            "关闭隐私模式。",
            questions={"bot_token": "@BotFather 给出的令牌"},
            person="用户的数字 ID",
            problems={
                "Telegram refuses the token of account {account}: it is wrong or was revoked; @BotFather "
                "shows the current one (/mybots, API Token)": "Telegram 拒绝了账号 {account} 的令牌：令牌有"
                "误或已被撤销；请在 @BotFather 中查看当前令牌（/mybots → API Token）",
                "cannot reach Telegram: {reason}": "无法连接 Telegram：{reason}",
                "Telegram answers: {reason}": "Telegram 返回：{reason}",
                "expected the token exactly as @BotFather sent it: {form}": "请原样粘贴 @BotFather 给出的"
                "令牌：数字、冒号，然后是字母和数字",
            },
        )
    },
    # With privacy mode, a command without the name reaches only the bot that wrote last
    # (core.telegram.org/bots/features#privacy-mode).
    commands=CommandForms(group="/{name}{at_bot}{rest}"),
)
