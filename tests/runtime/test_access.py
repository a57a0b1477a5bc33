"""Filters of `auth` handlers, and the user that they see."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph_sdk.auth.types import BaseUser

from agent.runtime.access import User, allows, allows_json

ALICE = {"owner": "alice", "tags": ["a", "b"], "n": 1, "none": None}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, True),
        ({"owner": "alice"}, True),
        ({"owner": "bob"}, False),
        ({"owner": {"$eq": "alice"}, "n": 1}, True),
        ({"n": True}, False),
        ({"n": "1"}, False),
        ({"other": None}, False),
        ({"none": None}, True),
        ({"tags": {"$contains": "a"}}, True),
        ({"tags": {"$contains": ["b", "a"]}}, True),
        ({"tags": {"$contains": ["a", "c"]}}, False),
        ({"owner": {"$contains": "a"}}, False),
        ({"owner": {"$eq": "alice", "$contains": "a"}}, False),
        ({"$or": [{"owner": "bob"}, {"n": 1}]}, True),
        ({"$or": [{"owner": "bob"}, {"n": 2}]}, False),
        ({"$or": [{"owner": "alice"}], "n": 2}, False),
        ({"$and": [{"owner": "alice"}, {"$or": [{"n": 1}, {"n": 2}]}]}, True),
        ({"$and": [{"owner": "alice"}, {"n": 2}]}, False),
    ],
    ids=str,
)
def test_a_filter_is_a_condition_for_metadata(wanted: dict[str, Any], expected: bool) -> None:
    assert allows(wanted, ALICE) is expected
    assert allows_json(json.dumps(wanted), json.dumps(ALICE)) is expected


@pytest.mark.guard(
    "runtime: an unknown operator of a filter lets nobody in",
    "agent/runtime/access.py",
    'tests.keys() - {"$eq", "$contains"}',
    "tests.keys() - tests.keys()",
    against="no credential",
)
@pytest.mark.parametrize(
    "wanted",
    [
        {"owner": {"$ne": "bob"}},
        {"owner": {}},
        {"$not": []},
        {"$or": []},
        {"$or": [None]},
        {"$or": [{"$and": [{"a": {"b": 1}}]}]},
        {"$or": [{}, {"a": {"b": 1}}]},
        {"other": "x", "owner": {"$in": ["alice"]}},
    ],
    ids=str,
)
def test_a_filter_that_is_not_understood_is_refused(wanted: Any) -> None:
    for metadata in ({}, ALICE):
        with pytest.raises(ValueError, match=r"\$"):
            allows(wanted, metadata)


@dataclass
class Person:
    identity: str
    email: str
    permissions: tuple[str, ...] = ("read",)

    def dict(self) -> dict[str, Any]:
        return {"email": self.email}


@pytest.mark.parametrize(
    "found",
    ["ada", {"identity": "ada", "email": "a@b"}, Person("ada", "a@b")],
    ids=lambda found: type(found).__name__,
)
def test_a_user_has_the_fields_of_what_was_returned(found: Any) -> None:
    user: Any = User(found)
    is_user = isinstance(user, BaseUser)
    assert is_user
    assert {user.identity, user["identity"], user.display_name} == {"ada"}
    assert user.is_authenticated
    assert list(user.permissions) == (["read"] if isinstance(found, Person) else [])
    assert user.get("email") == (None if found == "ada" else "a@b")
    assert found == "ada" or user.email == "a@b"
    assert User(user) == user
    assert copy.deepcopy(user)["identity"] == pickle.loads(pickle.dumps(user)).identity == "ada"
    with pytest.raises(AttributeError):
        user.other  # noqa: B018


@pytest.mark.parametrize("found", [None, "", {}, {"identity": 7}, object()], ids=str)
def test_nobody_is_no_user(found: Any) -> None:
    with pytest.raises(ValueError, match="must return a user with an identity"):
        User(found)
