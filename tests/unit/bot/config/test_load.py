"""The whole file: what holds without it, what it sets, and what stops the start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr, ValidationError

from agent.config.errors import join_words
from agent.config.models import AgentConfig
from bot.config import Config, ConfigErrors, LoadedConfig, load_config
from bot.config.platforms import known_platforms
from bot.platforms.local.account import TerminalAccount, WebAccount
from bot.platforms.telegram.account import TelegramAccount

if TYPE_CHECKING:
    from .conftest import Folder

V = "config_version: 1\n"
TOKEN = "123:abc_DEF-9"
STRONG = "Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6"
WEAK = (
    "other machines can reach {}, and {}; remove the key to have a token generated, or use the "
    "output of `openssl rand -hex 32`"
)


def test_no_file_is_the_zero_configuration(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    loaded = load_config(None, {}, tmp_path / "inner")
    assert loaded == LoadedConfig(Config(), None, (), "")
    config = loaded.config
    assert (config.server.host, config.server.port, config.server.token) == ("127.0.0.1", 2026, None)
    assert (config.runtime.url, config.runtime.assistant_id) == (None, "lead_agent")
    assert (config.limits.max_runs, config.limits.queue) == (256, 20)
    assert (config.limits.message_characters, config.limits.file_mb) == (100_000, 20)
    assert config.access.default == "pair"
    assert [type(account) for account in config.accounts] == [WebAccount, TerminalAccount]
    assert config.models == ()
    assert config.checkpointer.type == "sqlite"
    assert config.allow_degradation is True
    assert (config.logging.level, config.logging.format) == ("info", "text")


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "server:\nruntime:\nchannels:\naccess:\nmodels:\n" + V]
)
def test_an_empty_file_and_empty_sections_are_the_defaults(folder: Folder, text: str) -> None:
    loaded = folder.load(text)
    assert loaded.config == Config()
    assert loaded.path == folder.file
    assert loaded.warnings == ()


def test_every_section_is_read(folder: Folder) -> None:
    text = V + (
        "server: {host: 0.0.0.0, port: 0, token: $TOKEN, allowed_hosts: [Bot.Example.org, '::1']}\n"
        "runtime: {url: 'http://agent:2024/', management_url: 'https://m/api/',\n"
        "          assistant_id: helper, api_key: k}\n"
        "database: {url: 'postgresql+psycopg://u:p@h/n'}\n"
        "checkpointer: {type: memory}\n"
        "channels:\n"
        "  web: {enabled: false}\n"
        "  telegram: {bot_token: $BOT, streaming: off, base_url: 'http://127.0.0.1:8081', rate_scale: 0.5}\n"
        "  second: {platform: telegram, bot_token: '9:z', isolation: member, assistant_id: [other]}\n"
        "access: {default: allow, owners: telegram:1, groups: [telegram:-100, second:-5]}\n"
        "models: [{name: m, use: 'a.b:C', temperature: 0.5}]\n"
        "allow_degradation: no\n"
        "limits: {max_runs: 1, queue: 2, message_characters: 3, file_mb: 4}\n"
        "logging: {level: debug, format: json}\n"
        "budgets: {person: {messages_per_hour: 3}, account: {tokens_per_day: 5}}\n"
        "schedules: {timezone: Europe/Berlin, catch_up_minutes: 7}\n"
        "retention: {days: 30}\n"
    )
    config = folder.load(text, {"TOKEN": STRONG, "BOT": TOKEN}).config
    assert config.server.token == SecretStr(STRONG)
    assert config.server.allowed_hosts == ("bot.example.org", "::1")
    assert (config.runtime.url, config.runtime.management_url) == ("http://agent:2024", "https://m/api")
    assert config.runtime.api_key == SecretStr("k")
    assert config.database.url == SecretStr("postgresql+psycopg://u:p@h/n")
    assert config.checkpointer.type == "memory"
    assert (config.budgets.person.messages_per_hour, config.budgets.account.tokens_per_day) == (3, 5)
    assert (config.schedules.timezone, config.schedules.catch_up_minutes) == ("Europe/Berlin", 7)
    assert config.retention.days == config.kept_days("telegram") == 30
    assert [account.name for account in config.accounts] == ["terminal", "telegram", "second"]
    telegram, second = config.channels["telegram"], config.channels["second"]
    assert isinstance(telegram, TelegramAccount)
    assert telegram.bot_token == SecretStr(TOKEN)
    assert (telegram.streaming, telegram.rate_scale, telegram.busy, telegram.isolation) == (
        "off",
        0.5,
        "queue",
        "topic",
    )
    assert (second.platform, second.isolation, second.assistant_id) == ("telegram", "member", "other")
    assert [str(entry) for entry in config.access.groups] == ["telegram:-100", "second:-5"]
    assert config.models[0].extra == {"temperature": 0.5}
    assert config.allow_degradation is False
    assert config.limits.message_characters == 3
    assert config.logging.format == "json"


@pytest.mark.parametrize("name", sorted(Config.model_fields.keys() - AgentConfig.model_fields.keys()))
def test_no_section_goes_unread(folder: Folder, name: str) -> None:
    with pytest.raises(ConfigErrors, match=rf"config.yaml:2: {name}: expected "):
        folder.load(f"{V}{name}: 5\n")


def test_numbers_and_switches_may_come_from_the_environment(folder: Folder) -> None:
    env = {"PORT": " 8080 ", "SCALE": "0.25", "OFF": "False", "LEVEL": "error"}
    text = V + "server: {port: $PORT}\nchannels: {web: {rate_scale: $SCALE}, terminal: {enabled: $OFF}}\n"
    config = folder.load(text + "logging: {level: $LEVEL}\n", env).config
    assert config.server.port == 8080
    assert config.channels["web"].rate_scale == 0.25
    assert [account.name for account in config.accounts] == ["web"]
    assert config.logging.level == "error"


def test_a_disabled_account_needs_no_token(folder: Folder) -> None:
    config = folder.load(
        V + "channels: {telegram: {enabled: false, bot_token: $UNSET, rate_scale: $UNSET}}\n"
    ).config
    assert config.channels["telegram"].enabled is False
    assert "telegram" not in {account.name for account in config.accounts}


def test_with_a_foreign_runtime_the_models_keys_are_not_needed(folder: Folder) -> None:
    models = "models: [{name: m, use: 'a:B', api_key: $UNSET}]\n"
    account = "channels: {web: {model: theirs}}\n"
    config = folder.load(V + "runtime: {url: 'http://agent'}\n" + models + account).config
    assert config.models[0].extra == {}
    assert folder.refuse(V + models)[0].startswith(
        "config.yaml:2: models[0].api_key: the environment variable UNSET"
    )


def test_the_tree_is_frozen(folder: Folder) -> None:
    config = folder.load(V + "server: {port: 1}\n").config
    with pytest.raises(ValidationError):
        config.server.port = 2  # type: ignore[misc]
    with pytest.raises(ValidationError):
        config.access = config.access  # type: ignore[misc]


def test_the_fingerprint_follows_the_content(folder: Folder) -> None:
    first = folder.load(V)
    assert first.fingerprint
    assert folder.load(V).fingerprint == first.fingerprint
    assert folder.load(V + "# x\n").fingerprint != first.fingerprint


NUMBER = "expected a whole number, got"
NOT_YET = "is not supported in this version"

PLATFORMS = join_words(sorted(known_platforms()))
REFUSED = [
    ("server: {port: '2026'}", "server.port", f"{NUMBER} a string; remove the quotes"),
    ("server: {port: 2026.5}", "server.port", f"{NUMBER} a number"),
    ("server: {port: true}", "server.port", f"{NUMBER} true or false"),
    ("server: {port: [1]}", "server.port", f"{NUMBER} a list"),
    ("server: {port: $WORD}", "server.port", f"{NUMBER} other text in the environment variable WORD"),
    ("server: {port: 70000}", "server.port", "expected at most 65535, got 70000"),
    ("server: {port: -1}", "server.port", "expected at least 0, got -1"),
    ("server: {host: ''}", "server.host", "expected text, got an empty string"),
    ("server: {host: [127.0.0.1]}", "server.host", "expected a string, got a list"),
    ("server: {host: 1}", "server.host", "expected a string, got a whole number"),
    (
        "server: {token: ''}",
        "server.token",
        "expected text without spaces or line ends; copy the value again",
    ),
    ("server: {token: {a: b}}", "server.token", "expected a string, got a mapping"),
    ("server: {token: 12345678}", "server.token", "expected a string, got a whole number"),
    (
        "server: {host: 0.0.0.0, token: short}",
        "server.token",
        WEAK.format("0.0.0.0", "it is shorter than 24 characters"),
    ),
    (
        "server: {host: '::', token: change-me-before-you-start-it}",
        "server.token",
        WEAK.format("::", "it is copied from an example"),
    ),
    (
        "server: {host: 0.0.0.0, token: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
        "server.token",
        WEAK.format("0.0.0.0", "it repeats a few characters"),
    ),
    (
        "server: {trusted_proxies: [127.0.0.1, proxy.example.org]}",
        "server.trusted_proxies",
        "expected addresses or networks such as 127.0.0.1 or 10.0.0.0/8",
    ),
    (
        "server: {allowed_hosts: ['*']}",
        "server.allowed_hosts",
        "expected host names such as bot.example.org, without a scheme, port, path or wildcard",
    ),
    (
        "server: {public_url: 'https://bot.example.org/page'}",
        "server.public_url",
        "expected an address such as https://bot.example.org, without a path",
    ),
    ("server: {allowed_hosts: [1]}", "server.allowed_hosts[0]", "expected a string, got a whole number"),
    ("server: {allowed_hosts: {a: b}}", "server.allowed_hosts", "expected a list, got a mapping"),
    ("server: {prot: 1}", "server.prot", "unknown key; did you mean port?"),
    (
        "server: {zzz: 1}",
        "server.zzz",
        "unknown key; known here: allowed_hosts, host, limits, oidc, port, public_url, token and "
        "trusted_proxies",
    ),
    ("server: 5", "server", "expected a mapping (lines like `key: value`), got a whole number"),
    ("server: []", "server", "expected a mapping (lines like `key: value`), got a list"),
    ("serve: {}", "serve", "unknown key; did you mean server?"),
    (
        "runtime: {url: agent:2024}",
        "runtime.url",
        "expected an address such as https://host or http://host:port/path",
    ),
    (
        "runtime: {url: 'http://user:password@h'}",
        "runtime.url",
        "expected an address such as https://host or http://host:port/path",
    ),
    ("runtime: {assistant_id: [a, b]}", "runtime.assistant_id", "expected a string, got a list"),
    ("runtime: {assistant_id: 1}", "runtime.assistant_id", "expected a string, got a whole number"),
    ("runtime: {api_key: [k]}", "runtime.api_key", "expected a string, got a list"),
    (
        "database: {url: 'mysql://root:hunter2@h/n'}",
        "database.url",
        "expected an address such as postgresql://user:password@host/name",
    ),
    ("checkpointer: {type: redis}", "checkpointer.type", 'expected sqlite or memory, got "redis"'),
    ("checkpointer: {type: 1}", "checkpointer.type", "expected sqlite or memory, got a whole number"),
    ("allow_degradation: 1", "allow_degradation", "expected true or false, got a whole number"),
    (
        "allow_degradation: 'yes'",
        "allow_degradation",
        "expected true or false, got a string; remove the quotes",
    ),
    ("limits: {max_runs: 0}", "limits.max_runs", "expected at least 1, got 0"),
    ("limits: {queue: many}", "limits.queue", f"{NUMBER} a string"),
    ("logging: {level: loud}", "logging.level", 'expected debug, info, warning or error, got "loud"'),
    (
        "logging: {level: $WORD}",
        "logging.level",
        "expected debug, info, warning or error, got other text in the environment variable WORD",
    ),
    ("models: {name: m}", "models", "expected a list, got a mapping"),
    ("models: gpt", "models", "expected a list, got a string"),
    ("models: [gpt]", "models[0]", "expected a mapping (lines like `key: value`), got a string"),
    ("models: [{use: 'a:B'}]", "models[0].name", "is missing; add it"),
    ("models: [{name: m}]", "models[0].use", "is missing; add it"),
    (
        "models: [{name: m, use: a.B}]",
        "models[0].use",
        "expected package.module:name, such as langchain_openai:ChatOpenAI",
    ),
    (
        "models: [{name: m, use: 'a:B', extra: 3}]",
        "models[0].extra",
        "expected a mapping (lines like `key: value`), got a whole number",
    ),
    (
        "models: [{name: m, use: 'a:B'}, {name: m, use: 'a:C'}]",
        "models",
        "two models have the name m; rename one",
    ),
    ("channels: [telegram]", "channels", "expected a mapping with an entry for each account"),
    ("channels: {telegram: 5}", "channels.telegram", "expected a mapping with the account's keys"),
    (
        "channels: {telegram: }",
        "channels.telegram.bot_token",
        "is missing; add the token from @BotFather, or set `enabled: false`",
    ),
    (
        "channels: {telegram: {bot_token: [a, b]}}",
        "channels.telegram.bot_token",
        "expected a string, got a list",
    ),
    (
        "channels: {telegram: {bot_token: 1/x}}",
        "channels.telegram.bot_token",
        "expected the token exactly as @BotFather sent it: digits, a colon, then letters and digits",
    ),
    (
        "channels: {telegram: {bot_token: '1:a'}, t2: {platform: telegram, bot_token: '1:a'}}",
        "channels.t2.bot_token",
        "is also used by telegram; a bot can receive its messages in only one account",
    ),
    ("channels: {web: {bot_token: x}}", "channels.web.bot_token", None),
    (
        "channels: {web: {name: x}}",
        "channels.web.name",
        "unknown key; an account is named by the key of its entry",
    ),
    ("channels: {web: {streming: x}}", "channels.web.streming", None),
    (
        "channels: {telegram: {bot_token: '1:a', streaming: false}}",
        "channels.telegram.streaming",
        "expected edit, draft or off, got true or false",
    ),
    ("channels: {web: {rate_scale: 0}}", "channels.web.rate_scale", "expected more than 0, got 0"),
    ("channels: {web: {rate_scale: 2000}}", "channels.web.rate_scale", "expected at most 1000, got 2000"),
    ("channels: {web: {rate_scale: .inf}}", "channels.web.rate_scale", "expected at most 1000, got inf"),
    (
        "channels: {web: {rate_scale: fast}}",
        "channels.web.rate_scale",
        "expected a number, got a string",
    ),
    (
        "channels: {web: {rate_scale: $WORD}}",
        "channels.web.rate_scale",
        "expected a number, got other text in the environment variable WORD",
    ),
    ("channels: {Bot: {platform: web}}", "channels.Bot", None),
    (
        "channels: {bot: {}}",
        "channels.bot",
        f"expected `platform` to be {PLATFORMS}",
    ),
    (
        "channels: {bot: {platform: irc}}",
        "channels.bot.platform",
        f"expected `platform` to be {PLATFORMS}",
    ),
    (
        "channels: {bot: {platform: [web]}}",
        "channels.bot.platform",
        f"expected `platform` to be {PLATFORMS}",
    ),
    (
        "channels: {web2: {platform: web}}",
        "channels.web2",
        "the entry web2 cannot be an account on web; rename it",
    ),
    (
        "channels: {telegram: {platform: web}}",
        "channels.telegram",
        "the entry telegram cannot be an account on web; rename it",
    ),
    (
        "models: [{name: a, use: 'x:Y'}, {name: b, use: 'x:Y'}]\nchannels: {web: {model: c}}",
        "channels.web.model",
        "unknown model; expected a or b",
    ),
    (
        "config_version: 2",
        "config_version",
        "is 2, which is for a newer release; this one supports up to 1: update Roebot",
    ),
    (
        "checkpointer: {connection_string: null}",
        "checkpointer.connection_string",
        f"connection_string {NOT_YET}; remove it",
    ),
    (
        "checkpointer: {type: postgres}",
        "checkpointer.type",
        f"postgres {NOT_YET}; choose another one or remove it",
    ),
    (
        "channels: {telegram: {bot_token: '1:a', mode: webhook, webhook_secret: a}}",
        "channels.telegram.webhook_url",
        "is missing; add it (required in webhook mode), or set `enabled: false`",
    ),
    (
        "channels: {telegram: {bot_token: '1:a', webhook_secret: 'a b'}}",
        "channels.telegram.webhook_secret",
        None,
    ),
    (
        "channels: {telegram: {bot_token: '1:a'}, other: {platform: telegram, bot_token: '1:a'}}",
        "channels.other.bot_token",
        "is also used by telegram; a bot can receive its messages in only one account",
    ),
]


@pytest.mark.parametrize(("text", "key", "message"), REFUSED)
def test_what_stops_the_start(folder: Folder, text: str, key: str, message: str | None) -> None:
    version = "" if "config_version" in text else V
    folder.write(version + "# a line above\n" + text + "\n")
    with pytest.raises(ConfigErrors) as caught:
        load_config(None, {"WORD": "hunter2"}, folder.path)
    (error,) = caught.value.errors
    lines = (version + "#\n" + text).splitlines()
    assert (error.file, error.line, error.key) == ("config.yaml", len(lines), key)
    if message is not None:
        assert error.message == message
    assert "hunter2" not in str(caught.value)


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file(folder: Folder) -> None:
    text = V + (
        "logging: {level: loud}\n"
        "skills: []\n"
        "channels:\n"
        "  telegram:\n"
        "    bot_token: $UNSET\n"
        "    streeming: edit\n"
        "models:\n"
        "  - use: 'a:B'\n"
        "nonsense: 1\n"
    )
    assert [line.split(": ")[0:2] for line in folder.refuse(text)] == [
        ["config.yaml:2", "logging.level"],
        ["config.yaml:3", "skills"],
        ["config.yaml:6", "channels.telegram.bot_token"],
        ["config.yaml:7", "channels.telegram.streeming"],
        ["config.yaml:9", "models[0].name"],
        ["config.yaml:10", "nonsense"],
    ]


def test_no_error_shows_a_secret(folder: Folder) -> None:
    secret = "hunter2-hunter2"
    text = V + (
        f"server: {{token: 'a {secret}', host: '{secret}'}}\n"
        f"runtime: {{api_key: ['{secret}'], url: '{secret}'}}\n"
        f"database: {{url: '{secret}'}}\n"
        f"channels: {{telegram: {{bot_token: '{secret}/'}}}}\n"
        f"models: [{{name: m, use: '{secret}', api_key: '{secret}'}}]\n"
        f"access: {{owners: ['{secret}'], default: '{secret}-and-much-longer'}}\n"
    )
    lines = folder.refuse(text)
    assert len(lines) == 8
    assert secret not in "\n".join(lines)


def test_repr_and_dumps_show_no_secret(folder: Folder) -> None:
    secret = "hunter2-hunter2"
    text = V + (
        f"server: {{token: {secret}}}\nruntime: {{api_key: {secret}}}\n"
        f"database: {{url: 'postgresql://u:{secret}@h/n'}}\n"
        f"channels: {{telegram: {{bot_token: '1:{secret}'}}}}\n"
        f"models: [{{name: m, use: 'a:B', api_key: {secret}, default_headers: {{Authorization: {secret}}},"
        f" when_thinking_enabled: {{api-key: {secret}}}}}]\n"
    )
    config = folder.load(text).config
    for shown in (repr(config), str(config), config.model_dump_json(), repr(config.model_dump())):
        assert secret not in shown


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "'::1'"])
def test_a_short_token_is_accepted_where_only_this_machine_reaches_it(folder: Folder, host: str) -> None:
    assert folder.load(f"server: {{host: {host}, token: short}}").config.server.token == SecretStr("short")


def test_an_address_that_others_reach_needs_no_token_in_the_file(folder: Folder) -> None:
    server = folder.load("server: {host: 0.0.0.0, trusted_proxies: ['10.0.0.0/8', '::1']}").config.server
    assert server.token is None
    assert server.trusted_proxies == ("10.0.0.0/8", "::1")
