"""Whatever stands in the file: a configuration or ConfigErrors; and an upgrade changes no meaning."""

from __future__ import annotations

import string
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.document import parse_document
from agent.config.errors import ConfigErrors
from agent.config.loader import load_agent_config
from agent.config.upgrade import upgrade_text
from bot.config import LoadedConfig, load_config
from tests.harness.profile import examples

ENV = {"NAME": "value", "NUMBER": "5", "NAN": "nan"}
KEYS = [
    *("config_version", "server", "host", "port", "token", "allowed_hosts", "runtime", "url", "assistant_id"),
    *(
        "langgraph_url",
        "database",
        "checkpointer",
        "type",
        "channels",
        "web",
        "terminal",
        "telegram",
        "slack",
    ),
    *(
        "enabled",
        "platform",
        "bot_token",
        "streaming",
        "access",
        "owners",
        "blocked",
        "default",
        "models",
        "name",
    ),
    *(
        "use",
        "api_key",
        "extra",
        "when_thinking_enabled",
        "limits",
        "queue",
        "rate_scale",
        "logging",
        "tools",
    ),
]
WORDS = st.sampled_from(
    [
        "$NAME",
        "$NUMBER",
        "$NAN",
        "$UNSET",
        "$$x",
        "${NAME}",
        "telegram",
        "telegram:1",
        "edit",
        "off",
        "1:a",
        "a:B",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(KEYS) | st.text(string.ascii_lowercase, max_size=3), inner, max_size=5
        ),
    ),
    max_leaves=25,
)
FILES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)
BARE = st.text(st.sampled_from("ab:-{}[]&*<>|!%@`#,?'\"\\ \n\t\r$~=01.\u2028é\0\ufeff"), max_size=40)
FAST = settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def outcome(content: bytes) -> LoadedConfig | ConfigErrors:
    """What the loader makes of a file; the agent's half must not do worse."""
    with TemporaryDirectory() as name:
        path = Path(name) / "config.yaml"
        path.write_bytes(content)
        try:
            load_agent_config(path, ENV, path.parent)
            loaded = load_config(path, ENV, path.parent)
        except ConfigErrors as errors:
            assert errors.errors
            assert all(error.file == "config.yaml" and error.message for error in errors.errors)
            assert len(str(errors).splitlines()) >= len(errors.errors)
            return errors
    assert repr(loaded)
    return loaded


@FAST
@given(FILES)
def test_any_mapping_loads_or_is_refused(data: dict[str, Any]) -> None:
    outcome(yaml.safe_dump(data, allow_unicode=True).encode("utf-8", "surrogatepass"))


@FAST
@given(BARE)
def test_any_text_loads_or_is_refused(text: str) -> None:
    outcome(text.encode())


@FAST
@given(st.binary(max_size=60))
def test_any_bytes_load_or_are_refused(content: bytes) -> None:
    outcome(content)


def comparable(value: Any) -> Any:
    """The value with not-a-number equal to itself."""
    return yaml.safe_dump(value, sort_keys=True)


@FAST
@given(FILES, st.sampled_from([True, False, None]), st.sampled_from(["\n", "\r\n"]))
def test_an_upgrade_keeps_what_the_file_says(data: dict[str, Any], flow: bool | None, newline: str) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True).replace("\n", newline)
    try:
        new, names = upgrade_text(text, "c.yaml")
    except ConfigErrors:
        return
    before, after = parse_document(text, "c.yaml").data, parse_document(new, "c.yaml").data
    assert upgrade_text(new, "c.yaml")[0] == new
    for key, value in before.items():
        if key == "config_version" or any(old.startswith(f"{key}.") for old, _ in names):
            continue
        assert comparable(after[key]) == comparable(value)
    assert after.keys() == before.keys() | {"config_version"}
