"""Saving changes of the configuration file, with its versions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.errors import ConfigErrors
from agent.config.secrets_file import add_secrets, read_secrets
from bot.config.changes import ChangeSettings, ConnectAccount, ReplaceCredentials
from bot.config.loader import load_file
from bot.config.versions import FOLDER, MOST_VERSIONS, ConfigChanged, ConfigFile

pytestmark = pytest.mark.may_block
INLINE = "1234567890:AAinline-token-of-a-person"
TYPED = "1234567890:AAtyped-token-of-a-person"
BEFORE = f'# ours\nchannels:\n  telegram: {{bot_token: "{INLINE}", enabled: false}} # mine\n'


@pytest.fixture
def file(tmp_path: Path) -> ConfigFile:
    folder = tmp_path / "home"
    folder.mkdir()
    return ConfigFile(tmp_path / "config.yaml", folder, {})


def allow(value: str) -> ChangeSettings:
    return ChangeSettings(section="access", values={"default": value})


def save(file: ConfigFile, *changes: object, now: float = 0.0) -> str:
    draft = file.make_draft()
    for change in changes:
        change.apply(draft)
    file.check(draft)
    return file.save(draft, draft.version, now)


TOKEN = ReplaceCredentials(account="telegram", values={"bot_token": TYPED})


def test_a_new_file_is_private(file: ConfigFile) -> None:
    assert file.read() == ("", "none")
    account = ConnectAccount(name="team", platform="telegram", settings={"bot_token": TYPED, "locale": "zh"})
    version = save(file, account, allow("closed"))
    assert file.read()[1] == version == load_file(file.path, {}, file.home).fingerprint
    assert TYPED not in file.path.read_text()
    assert read_secrets(file.path) == {"TEAM_BOT_TOKEN": TYPED}
    for path in (file.path, file.path.parent / "secrets.env", *(file.home / FOLDER).iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path
    [stored] = file.list_versions()
    assert stored.keys == ("channels.team", "access.default")


def test_the_file_of_an_editor_is_kept_too_without_its_secrets(file: ConfigFile) -> None:
    file.path.write_text(BEFORE)
    save(file, TOKEN, now=5.0)
    new, old = file.list_versions()
    assert (old.keys, new.keys, new.at) == ((), ("channels.telegram.bot_token",), 5.0)
    assert all(
        secret not in path.read_text()
        for secret in (INLINE, TYPED)
        for path in (file.home / FOLDER).iterdir()
    )
    draft = file.make_draft()
    draft.text = old.text
    restored = file.check(draft).config.channels["telegram"]
    assert restored.bot_token.get_secret_value() == INLINE  # type: ignore[attr-defined]
    assert old.text.startswith("# ours\n")
    assert old.text.endswith("# mine\n")


def test_a_file_that_changed_meanwhile_is_not_written(file: ConfigFile) -> None:
    file.path.write_text(BEFORE)
    draft = file.make_draft()
    TOKEN.apply(draft)
    file.path.write_text(BEFORE + "# another\n")
    with pytest.raises(ConfigChanged):
        file.save(draft, draft.version, 0.0)
    assert file.path.read_text() == BEFORE + "# another\n"
    assert read_secrets(file.path) == {}


def test_an_invalid_change_is_refused(file: ConfigFile) -> None:
    file.path.write_text(BEFORE)
    for wrong in (
        ChangeSettings(section="channels.nobody", values={"enabled": True}),
        ChangeSettings(section="server", values={"token": "x"}),
        ChangeSettings(section="access", values={"owners": ["x"]}),
        ReplaceCredentials(account="telegram", values={"base_url": "http://x"}),
        ReplaceCredentials(model="none", values={"api_key": "x"}),
    ):
        with pytest.raises(ConfigErrors):
            save(file, wrong)
    assert file.path.read_text() == BEFORE


def test_fifty_versions_are_kept_and_the_secrets_of_others_removed(file: ConfigFile) -> None:
    file.path.write_text(BEFORE)
    add_secrets(file.path, {"MINE": "by hand"})
    save(file, TOKEN)
    save(file, TOKEN)
    for number in range(MOST_VERSIONS + 2):
        save(file, ChangeSettings(section="budgets", values={"person.tokens_per_day": number + 1}))
    stored = file.list_versions()
    assert len(stored) == MOST_VERSIONS == len({one.fingerprint for one in stored})
    assert stored[0].number == MOST_VERSIONS + 5
    assert read_secrets(file.path).keys() == {"MINE", "TELEGRAM_BOT_TOKEN_2"}


def test_a_version_that_cannot_be_read_is_skipped(file: ConfigFile) -> None:
    save(file, allow("closed"))
    (file.home / FOLDER / "000007.json").write_text(json.dumps({"number": 7}))
    (file.home / FOLDER / "000008.json").write_text("{")
    assert [one.number for one in file.list_versions()] == [1]


KILLED = """
import os, pathlib, signal, sys
from pathlib import Path
from bot.config.changes import ReplaceCredentials
from bot.config.versions import ConfigFile
left = [int(sys.argv[2])]
def counted(function):
    def count(*arguments, **options):
        for step in ("before", "after"):
            if step == "after":
                result = function(*arguments, **options)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return result
    return count
os.fsync = counted(os.fsync)
pathlib.Path.replace = counted(pathlib.Path.replace)
folder = Path(sys.argv[1])
file = ConfigFile(folder / "config.yaml", folder / "home", {})
draft = file.make_draft()
ReplaceCredentials(account="telegram", values={"bot_token": sys.argv[3]}).apply(draft)
file.check(draft)
file.save(draft, draft.version, 1.0)
"""


def test_killed_at_each_step_while_saving(tmp_path: Path) -> None:
    """The file is the old or the new one, and loads with its token; the next change works."""
    (tmp_path / "killed.py").write_text(KILLED)
    outcomes = []
    for step in range(1, 100):
        folder = tmp_path / str(step)
        (folder / "home").mkdir(parents=True)
        file = ConfigFile(folder / "config.yaml", folder / "home", {})
        file.path.write_text(BEFORE)
        command = [sys.executable, str(tmp_path / "killed.py"), str(folder), str(step), TYPED]
        done = subprocess.run(command, cwd=Path(__file__).parents[4], check=False, env={"PYTHONPATH": "."})
        loaded = load_file(file.path, {}, folder).config.channels["telegram"]
        token = loaded.bot_token.get_secret_value()  # type: ignore[attr-defined]
        outcomes.append(token == TYPED)
        assert token in (INLINE, TYPED)
        save(file, allow("closed"))
        assert not any(INLINE in one.text or TYPED in one.text for one in file.list_versions())
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, step
    assert outcomes == sorted(outcomes)
    assert outcomes[0] is False
    assert outcomes[-1] is True
    assert len(outcomes) > 16
