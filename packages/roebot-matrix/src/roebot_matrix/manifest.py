"""The manifest: limits with their sources, and setup steps on the homeserver."""

from __future__ import annotations

from bot.platforms.manifest import Budget, Manifest, Operation, Scope
from bot.platforms.setup import SetupGuide
from bot.texts import CommandForms

_SYNAPSE = (
    "Synapse's default, rc_message: 10 at once and 0.2 per second for each user "
    "(element-hq/synapse, docs/usage/configuration/config_documentation.md)"
)
_OWN = "Roebot's own limit; Synapse publishes none for typing"

MANIFEST = Manifest(
    platform="matrix",
    title="Matrix",
    adapter="roebot_matrix.adapter:create",
    extra="",
    one_connection=True,
    message_threads=True,
    budgets=(
        # A bucket of ten that refills every five seconds allows at least ten in any fifty seconds.
        Budget(
            Scope.ACCOUNT,
            10,
            50.0,
            _SYNAPSE,
            operations=frozenset({Operation.POST, Operation.EDIT, Operation.FINAL}),
            reserve=4,
        ),
        Budget(Scope.CHAT, 1, 10.0, _OWN, operations=frozenset({Operation.TYPING})),
    ),
    # Synapse's default for max_upload_size.
    max_file_in=20 * 1024 * 1024,
    max_file_out=50 * 1024 * 1024,
    frame_interval=1.0,
    setup_steps=(
        "On your homeserver, register a user for the bot. On Synapse: "
        "`register_new_matrix_user --no-admin -u roebot`.",
        "Sign in as this user once, with its password, to get an access token. In Element: All settings, "
        "Help & About, Access Token. Don't sign out there afterwards, because that revokes the token.",
        "If you run the homeserver, exempt the bot from its rate limit, so that answers can stream: "
        "`POST /_synapse/admin/v1/users/@roebot:example.org/override_ratelimit` with "
        '`{"messages_per_second": 0, "burst_count": 0}`, then set `rate_scale: 0.02` on the account.',
    ),
    write_to_it="In Matrix, start a chat with the bot's user in a room without encryption, and send a "
    "message.",
    guides={
        "zh": SetupGuide(
            (
                "在你的 homeserver 上为机器人注册一个用户。Synapse 的命令是 "
                "`register_new_matrix_user --no-admin -u roebot`。",
                "用这个用户登录一次，取得访问令牌。在 Element 中：所有设置 → 帮助及关于 → 访问令牌。之后"
                "不要在那里退出登录，否则令牌会失效。",
                "如果 homeserver 由你管理，请解除机器人的发送频率限制，回答才能流畅地逐步显示："
                "`POST /_synapse/admin/v1/users/@roebot:example.org/override_ratelimit`，内容为 "
                '`{"messages_per_second": 0, "burst_count": 0}`，然后在账号上设置 `rate_scale: 0.02`。',
            ),
            "在 Matrix 中新建一个未加密的房间，与机器人的用户聊天，并发送一条消息。",
            questions={
                "base_url": "homeserver 的地址，例如 https://matrix.example.org",
                "access_token": "机器人用户的访问令牌",
            },
            person="用户的 Matrix ID（@名称:服务器）",
            problems={
                "account {account}: the homeserver refuses the access token; get a new one and set "
                "access_token": "homeserver 拒绝了账号 {account} 的访问令牌；请重新登录机器人的用户，并填写"
                "新的令牌",
                "account {account}: the homeserver can't be reached: {reason}": "无法连接账号 {account} 的 "
                "homeserver：{reason}",
            },
        )
    },
    # Element takes messages that begin with a slash for commands of its own.
    commands=CommandForms(private="@roebot /{name}{rest}"),
)
