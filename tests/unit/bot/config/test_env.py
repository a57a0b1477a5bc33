"""`$NAME` values."""

from __future__ import annotations

import pytest

from agent.config.document import parse_document
from agent.config.env import EnvText, resolve_env
from agent.config.errors import ConfigErrors

ENV = {"NAME": "value", "EMPTY": "", "BLANK": "  ", "LOOP": "$NAME", "OFF": "off"}


def resolved(text: str, **options: frozenset[str]) -> dict[str, object]:
    return resolve_env(parse_document(text, "c.yaml"), ENV, **options).data


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$NAME", "value"),
        ("'$NAME'", "value"),
        ("[$NAME, x]", ["value", "x"]),
        ("{b: {c: $NAME}}", {"b": {"c": "value"}}),
        ("$$NAME", "$NAME"),
        ("$$", "$"),
        ("$$$NAME", "$$NAME"),
        ("a$NAME", "a$NAME"),
        ("$NAME/x", "$NAME/x"),
        ("$5", "$5"),
        ("$", "$"),
        ("$LOOP", "$NAME"),
        ("5", 5),
        ("true", True),
    ],
)
def test_only_a_whole_value_is_replaced(written: str, value: object) -> None:
    assert resolved(f"a: {written}") == {"a": value}


def test_text_from_the_environment_knows_its_name() -> None:
    value = resolved("a: $NAME")["a"]
    assert isinstance(value, EnvText)
    assert value.name == "NAME"


@pytest.mark.parametrize("name", ["UNSET", "EMPTY", "BLANK"])
def test_an_unset_name_is_an_error_with_line_and_key(name: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        resolved(f"a:\n  b:\n    - x\n    - ${name}\n")
    (error,) = caught.value.errors
    assert (error.file, error.line, error.key) == ("c.yaml", 4, "a.b[1]")
    assert error.message.startswith(f"the environment variable {name} is not set or is empty")


def test_every_unset_name_is_told_at_once() -> None:
    with pytest.raises(ConfigErrors) as caught:
        resolved("a: $ONE\nb: {c: $TWO}\n")
    assert [error.key for error in caught.value.errors] == ["a", "b.c"]


def test_braces_are_told() -> None:
    with pytest.raises(ConfigErrors) as caught:
        resolved("a: ${NAME}\n")
    assert str(caught.value) == "c.yaml:1: a: write $NAME without the braces"


@pytest.mark.parametrize("off", ["false", "off", "$OFF", "No"])
def test_a_part_that_is_switched_off_needs_no_variables(off: str) -> None:
    text = f"part: {{token: $UNSET, name: $NAME, inner: {{x: $UNSET}}, list: [$UNSET, y], enabled: {off}}}"
    part = resolved(text)["part"]
    assert isinstance(part, dict)
    assert part.pop("enabled") in (False, "off", "No")
    assert part == {"name": "value", "inner": {}, "list": ["y"]}


@pytest.mark.parametrize("on", ["true", "yes", "$NAME"])
def test_a_part_that_is_on_needs_them(on: str) -> None:
    with pytest.raises(ConfigErrors, match=r"part\.token: the environment variable UNSET"):
        resolved(f"part: {{enabled: {on}, token: $UNSET}}")


def test_an_unset_switch_is_an_error_itself() -> None:
    with pytest.raises(ConfigErrors, match=r"part\.enabled: the environment variable UNSET"):
        resolved("part: {enabled: $UNSET}")


def test_a_value_of_the_environment_is_not_looked_up_again() -> None:
    assert resolved("part: {enabled: $LOOP}") == {"part": {"enabled": "$NAME"}}


def test_idle_sections_need_none() -> None:
    idle = frozenset({"models", "gone"})
    assert resolved("models: [{api_key: $UNSET, name: x}]\ngone: $UNSET\n", idle=idle) == {
        "models": [{"name": "x"}]
    }
