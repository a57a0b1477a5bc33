"""`secrets.env` beside a configuration file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.errors import ConfigErrors
from agent.config.loader import load_agent_config
from agent.config.secrets_file import add_secrets, keep_secrets, read_secrets, secrets_path

pytestmark = pytest.mark.may_block
VALUES = st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES)
def test_any_value_of_one_line_is_read_back(tmp_path: Path, value: str) -> None:
    path = tmp_path / "config.yaml"
    secrets_path(path).unlink(missing_ok=True)
    add_secrets(path, {"A_TOKEN": value, "B": "b"})
    assert read_secrets(path) == {"A_TOKEN": value, "B": "b"}


def test_a_shell_reads_the_same(tmp_path: Path) -> None:
    value = """it's $HOME "quoted" \\ `x` #"""
    add_secrets(tmp_path / "config.yaml", {"A": value})
    script = 'set -a; . "$1"; printf %s "$A"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(tmp_path / "secrets.env")], capture_output=True, text=True, check=True
    )
    assert done.stdout == value


def test_the_file_is_private_and_grows(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    assert read_secrets(path) == {}
    add_secrets(path, {"A": "1"})
    add_secrets(path, {"B": "2"})
    assert read_secrets(path) == {"A": "1", "B": "2"}
    assert secrets_path(path).stat().st_mode & 0o777 == 0o600
    keep_secrets(path, {"B", "C"})
    assert read_secrets(path) == {"B": "2"}


@pytest.mark.parametrize("line", ["A", "A B=1", "1A=x", "A='x", "export A=1 B=2"])
def test_a_line_that_is_none_is_named_without_its_value(tmp_path: Path, line: str) -> None:
    secrets_path(tmp_path / "config.yaml").write_text(f"# mine\nexport OK=1\n\n{line}\n")
    with pytest.raises(ConfigErrors, match=r"secrets.env:4: expected NAME=value; quote a value with spaces$"):
        read_secrets(tmp_path / "config.yaml")


def test_several_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one line"):
        add_secrets(tmp_path / "config.yaml", {"A": "a\nB=b"})


def test_the_agent_reads_them_and_the_environment_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text('models: [{name: $NAME, use: "a:B", api_key: $KEY}]\n')
    add_secrets(path, {"NAME": "mine", "KEY": "k"})
    [model] = load_agent_config(path, {"KEY": "other"}, tmp_path).config.models
    assert (model.name, model.extra_arguments()) == ("mine", {"api_key": "other"})
