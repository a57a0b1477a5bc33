"""A configuration's text without its secrets."""

from __future__ import annotations

import pytest

from agent.config.document import parse_document
from bot.config.concealment import looks_secret, mask_text

TOKEN = "xoxb-1234567890-AbCdEfGhIjKl0123456789"
TEXT = """\
# the old token was xoxb-9876543210-ZyXwVuTsRqPo1234567890 (revoked 2026)
server: {token: "s3cr3t-1"}
database:
  url: postgresql://roebot:s3cr3t-2@db.example.org/roebot
models:
  - name: claude-sonnet-5-5-20260101
    use: "langchain_anthropic:ChatAnthropic"
    api_key: s3cr3t-3
    default_headers: {X-Team: s3cr3t-4, "X-Other": $HEADER}
channels:
  slack:
    bot_token: &token s3cr3t-5
    app_token: *token
    signing_secret: |
      s3cr3t-6
  telegram: {bot_token: $TELEGRAM_BOT_TOKEN, webhook_secret: 's3cr3t-7'} # s3cr3t-8
events:
  sources:
    grafana: {type: grafana, secrets: [s3cr3t-9, "s3cr3t-10"]}
tools:
  - {name: web, use: "a:b", options: {note: "AKIA0123456789ABCDEF"}}
access: {owners: [slack:U0000001, "telegram:987654321"]}
"""


def test_no_secret_is_left_and_nothing_else_is_missing() -> None:
    shown = mask_text(TEXT, "c.yaml")
    assert "s3cr3t" not in shown
    assert "AKIA" not in shown
    assert "ZyXwVu" not in shown
    for word in (
        "claude-sonnet-5-5-20260101",
        "langchain_anthropic:ChatAnthropic",
        "$HEADER",
        "$TELEGRAM_BOT_TOKEN",
        "slack:U0000001",
        "telegram:987654321",
        "# the old token was",
        "(revoked 2026)",
    ):
        assert word in shown, word
    before, after = parse_document(TEXT, "c").data, parse_document(shown, "c").data
    assert after.keys() == before.keys()
    assert after["channels"]["slack"] == dict.fromkeys(("bot_token", "app_token", "signing_secret"), "***")


def test_line_endings_stay() -> None:
    assert mask_text(TEXT.replace("\n", "\r\n"), "c").replace("\r\n", "\n") == mask_text(TEXT, "c")


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        "sk-proj-abcdefgh0123456789ijklmnop",
        "https://u:p@host/",
        "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    ],
)
def test_what_looks_like_a_secret(value: str) -> None:
    assert looks_secret(value)


@pytest.mark.parametrize(
    "value",
    [
        "langchain_openai:ChatOpenAI",
        "https://api.example.org/v1/models",
        "2026-11-30T12:00:00",
        "meta-llama/llama-3.3-70b-instruct",
        "100000000000000007",
        "ou_7d8a6e6df7621556ce0d21922b676706",
    ],
)
def test_what_does_not(value: str) -> None:
    assert not looks_secret(value)


def test_ids_of_people_and_chats_stay() -> None:
    text = "access: {groups: ['matrix:!AbCdEfGhIj0123456789KlMn:example.org', 'feishu:oc_0123456789abcdef']}"
    assert mask_text(text, "c") == text
