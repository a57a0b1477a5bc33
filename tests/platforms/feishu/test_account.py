"""The account's entry in the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigErrors
from bot.config.access import AccessEntry
from bot.config.loader import load_file, wrong_person
from tests.unit.bot.cli.test_security_audit import STRONG, configured, found

SECRET_MISSING = "add it (required in webhook mode to verify requests), or set `enabled: false`"


@pytest.mark.parametrize(
    ("channels", "complaint"),
    [
        ("{feishu: {app_id: cli_1}}", "channels.feishu.app_secret: is missing"),
        (
            "{feishu: {app_id: cli_1, app_secret: x, mode: webhook}}",
            f"channels.feishu.encrypt_key: is missing; {SECRET_MISSING}",
        ),
        (
            "{feishu: {app_id: x, domain: else}}",
            'channels.feishu.domain: expected feishu or lark, got "else"',
        ),
        (
            "{feishu: {app_id: a, app_secret: x}, lark: {platform: feishu, app_id: a, app_secret: y}}",
            "channels.lark.app_id: is also used by feishu",
        ),
    ],
)
def test_what_is_wrong_in_an_entry_has_its_key(tmp_path: Path, channels: str, complaint: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"config_version: 1\nchannels: {channels}\n")
    with pytest.raises(ConfigErrors) as caught:
        load_file(path, {}, tmp_path)
    assert complaint in str(caught.value)


def test_an_organization_is_a_kind_of_group() -> None:
    assert wrong_person("feishu", AccessEntry("feishu", "736588c9260f175d", "team")) is None


def test_a_callback_without_a_token_is_a_finding(tmp_path: Path) -> None:
    keys = f"app_id: cli_a, app_secret: {STRONG}, encrypt_key: {STRONG}, mode: webhook"
    text = f"channels: {{feishu: {{{keys}}}}}\naccess: {{owners: ['feishu:ou_0123456789']}}\n"
    assert found(configured(tmp_path, text)) == {"webhook-unverified": "note", "approvals-off": "note"}
