"""What an agent hears that asks whether it may do something: nobody is there to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

_YES = ("allow_once", "allow_always")
_NO = ("reject_once", "reject_always")


class PermissionChoice(Protocol):
    """One of the answers that it offers."""

    @property
    def kind(self) -> str:
        """allow_once, allow_always, reject_once or reject_always."""
        ...

    @property
    def option_id(self) -> str:
        """By which it is chosen."""
        ...


def choose_option(options: Sequence[PermissionChoice], *, approve: bool) -> str | None:
    """The id of the option to take, the narrowest of its kind; None where none of that kind is offered."""
    for kind in _YES if approve else _NO:
        for option in options:
            if option.kind == kind:
                return option.option_id
    return None
