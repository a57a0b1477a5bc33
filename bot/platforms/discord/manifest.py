"""The manifest of Discord."""

from __future__ import annotations

from bot.platforms.manifest import Budget, Manifest, Operation, Scope
from bot.platforms.setup import SetupGuide
from bot.texts import CommandForms

_RATES = "docs.discord.com/developers/topics/rate-limits"
_HEADERS = (
    f"{_RATES} gives no figure per route, but the headers do: 5 in 5 s for messages and edits in a channel "
    "(discord/discord-api-docs#20, javacord.org/wiki/advanced-topics/ratelimits); a period ends for all "
    "of its calls at once (X-RateLimit-Reset-After)"
)
_POSTS = frozenset({Operation.POST})
_EDITS = frozenset({Operation.EDIT, Operation.FINAL})
_TYPING = frozenset({Operation.TYPING})
_REACTIONS = frozenset({Operation.REACTION})

MANIFEST = Manifest(
    platform="discord",
    title="Discord",
    adapter="bot.platforms.discord.adapter:create",
    extra="discord",
    one_connection=True,
    api_root="https://discord.com/api/v10",
    activity='"is typing …" below the channel (`POST /channels/{id}/typing`), renewed every 4.5 s',
    budgets=(
        Budget(Scope.CHAT, 5, 5.0, _HEADERS, operations=_POSTS, fixed=True),
        Budget(Scope.CHAT, 5, 5.0, _HEADERS, operations=_EDITS, fixed=True),
        Budget(Scope.CHAT, 5, 5.0, _HEADERS, operations=_TYPING, fixed=True),
        Budget(Scope.CHAT, 1, 0.25, "discord/discord-api-docs#864", operations=_REACTIONS),
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
    ),
    invite_step="Open {link} , choose your server and press Authorize. This requires the Manage Server "
    "permission. The bot gets only View Channels, Send Messages, Send Messages in Threads, Attach Files, "
    "Read Message History and Add Reactions.",
    write_to_it="In Discord, click the bot in your server's member list and send it a direct message; "
    "in a channel, mention it.",
    guides={
        "zh": SetupGuide(
            (
                "打开 https://discord.com/developers/applications ，点击 New Application 并填写名称。",
                "在 Bot 页面点击 Reset Token 并复制令牌；Discord 只显示一次。",
                "在同一页面的 Privileged Gateway Intents 下打开 Message Content Intent 并保存。",
            ),
            "在 Discord 的服务器成员列表中点击机器人，给它发一条私信；在频道中使用时，@ 它即可。",
            "打开 {link} ，选择你的服务器并点击「授权」。这需要「管理服务器」权限。机器人只会获得查看频道、"
            "发送消息、在子区内发送消息、附加文件、读取消息历史记录和添加反应的权限。",
            questions={"bot_token": "开发者后台给出的机器人令牌"},
            person="用户的数字 ID",
            problems={
                "Discord refuses the token of account {account}: it is wrong or was reset; the developer "
                "portal gives a new one (page Bot, Reset Token)": "Discord 拒绝了账号 {account} 的令牌：令"
                "牌有误或已被重置；请在开发者后台的 Bot 页面点击 Reset Token 获取新令牌",
                "Discord refuses account {account} the Message Content Intent: switch it on in the "
                "developer portal, page Bot, under Privileged Gateway Intents, and save": "Discord 没有给账"
                "号 {account} Message Content Intent：请在开发者后台 Bot 页面的 Privileged Gateway Intents "
                "下打开它并保存",
                "cannot reach Discord: {reason}": "无法连接 Discord：{reason}",
                "cannot connect to Discord's gateway: {reason}": "无法连接 Discord 的 gateway：{reason}",
                "Discord answers {status}: {reason}": "Discord 返回 {status}：{reason}",
            },
        )
    },
    setup="bot.platforms.discord.invite:SETUP",
    # Commands are registered with Discord, skills are not.
    commands=CommandForms(group="/{name}{rest}", skill="@{bot} /{name}{rest}"),
)
