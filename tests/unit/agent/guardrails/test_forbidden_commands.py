"""Commands that are refused whoever approves them, however a shell lets them be written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agent.config.errors import ConfigErrors
from agent.config.forbidden_commands import DEFAULT_RULES
from agent.config.models import AgentConfig
from agent.guardrails.forbidden_commands import ForbiddenCommands
from agent.guardrails.shell_commands import list_commands

pytestmark = pytest.mark.guard(
    "scripts inside of commands are read",
    "agent/guardrails/shell_commands.py",
    "if self.depth < MAX_DEPTH:",
    "if False:",
    against="an approved disaster",
)

RULES = ForbiddenCommands(data=Path("/srv/roebot/.roebot"), config=Path("/srv/roebot/config.yaml"))
WIPE = "rm -r {system}"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -fr /*",
        "rm -r -f //",
        "/bin/rm -Rf /.",
        "rm --recursive --force /usr/../etc",
        "rm -rf -- /home/*",
        "\\rm -rf /",
        "r'm' -r'f' \"/\"",
        "rm -rf \\\n /",
        "cd /tmp && rm -rf /",
        "true | rm -rf /",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "if true; then rm -rf /; fi",
        "for i in 1; do rm -rf /usr/*; done",
        "$(rm -rf /)",
        "echo `rm -rf /`",
        'echo "$(rm -rf /)"',
        "sh -c 'rm -rf /'",
        'bash -lc "sudo rm -rf /"',
        "sh -c \"sh -c 'rm -rf /'\"",
        "env A=b rm -rf /",
        "A=1 rm -rf /",
        "sudo -u root -E rm -rf /",
        "timeout 5 rm -rf /etc",
        "nohup rm -rf / &",
        "nice -n 5 rm -rf /",
        "busybox rm -rf /",
        "xargs -n 1 rm -rf / < x",
        "a=rm; $a -rf /",
        "x='rm -rf /'; $x",
        "x='rm -rf /'; eval $x",
        "rm${IFS}-rf${IFS}/",
        "echo 'rm -rf /' | sh",
        "sh <<EOF\nrm -rf /\nEOF\n",
        "bash <<< 'rm -rf /'",
        "find . -exec rm -rf / \\;",
        "find . -exec sh -c 'rm -rf /' \\;",
    ],
)
def test_a_wiped_system_is_found_however_it_is_written(command: str) -> None:
    assert RULES.find_rule({"command": command}) == WIPE


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("mkfs.ext4 /dev/sda1", "mkfs*"),
        ("dd if=/dev/zero of=/dev/sda bs=1M", "dd of={disk}"),
        ("cat x >/dev/nvme0n1", "> {disk}"),
        ("cat x | sudo tee /dev/sdb", "tee {disk}"),
        (":(){ :|:& };:", "fork-bomb"),
        ("bomb() { bomb | bomb & }; bomb", "fork-bomb"),
        ("shutdown -h now", "shutdown"),
        ("sudo systemctl status; sudo reboot", "reboot"),
        ("cat /srv/roebot/.roebot/bot.db", "* {data}"),
        ("cp -r ${ROEBOT_HOME} .", "* {data}"),
        ("cat < /srv/roebot/config.yaml", "* {config}"),
        ("python -c \"print(open('/srv/roebot/config.yaml').read())\"", "* {config}"),
        ("strings /proc/self/environ", "* /proc/*/environ"),
    ],
)
def test_what_else_is_refused(command: str, rule: str) -> None:
    assert RULES.find_rule({"command": command}) == rule


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf /mnt/user-data/workspace/build",
        "rm -r ./*",
        "rm /etc",
        "echo 'rm -rf /'",
        "git commit -m 'never rm -rf /'",
        "grep -r shutdown .",
        "echo reboot",
        "cat config.yaml",
        "dd if=a of=/dev/null",
        "ls 2>/dev/null",
        "cat > notes.txt <<EOF\nrm -rf /\nEOF\n",
        "# rm -rf /\nls",
        "f() { g | h & }; f",
        "find . -name '*.pyc' -exec rm {} \\;",
    ],
)
def test_ordinary_work_is_not(command: str) -> None:
    assert RULES.find_rule({"command": command}) == ""


def test_arguments_that_are_no_script_are_left_alone() -> None:
    assert RULES.find_rule({"content": "rm -rf /", "command": 5}) == ""
    assert RULES.find_rule({"command": ["rm", "-rf", "/"]}) == WIPE


def test_the_list_is_configurable() -> None:
    own = ForbiddenCommands(["git push --force*", "terraform destroy"])
    assert own.find_rule({"command": "cd x && git push --force-with-lease origin"}) == "git push --force*"
    assert own.find_rule({"command": "terraform plan"}) == ""
    assert own.find_rule({"command": "rm -rf /"}) == ""
    assert AgentConfig().guardrails.forbidden_commands == DEFAULT_RULES


def test_a_rule_that_no_shell_could_read_is_refused() -> None:
    from pydantic import ValidationError

    with pytest.raises((ValidationError, ConfigErrors), match="a quote is not closed"):
        AgentConfig.model_validate({"guardrails": {"forbidden_commands": ["rm 'x"]}})


@pytest.mark.parametrize(
    "script",
    [
        "a" * 100_000,
        "$(" * 5000,
        "(" * 20_000,
        '"' + "$(" * 3000,
        "a|" * 30_000,
        "<<E\n" * 2000,
        "`" * 50_001,
    ],
)
def test_no_script_takes_long(script: str) -> None:
    started = time.monotonic()
    RULES.find_rule({"command": script})
    assert time.monotonic() - started < 5


def test_commands_are_listed_with_their_words() -> None:
    found = [(one.program, one.arguments) for one in list_commands("/usr/bin/git log -1 | head >out 2>&1")]
    assert ("git", ("log", "-1")) in found
    assert ("head", ()) in found
    assert (">", ("out",)) in found
