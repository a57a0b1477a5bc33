"""Extra middleware finds its place, or a clear refusal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware

from agent.features import Next, Prev, RuntimeFeatures
from agent.harness.assembly import Slot, import_string_of, order_middleware


class First(AgentMiddleware[Any, Any]):
    pass


class Second(AgentMiddleware[Any, Any]):
    pass


class Last(AgentMiddleware[Any, Any]):
    pass


class Free(AgentMiddleware[Any, Any]):
    pass


class Other(AgentMiddleware[Any, Any]):
    pass


@Next(First)
class AfterFirst(AgentMiddleware[Any, Any]):
    pass


@Prev(First)
class BeforeFirst(AgentMiddleware[Any, Any]):
    pass


@Prev(Last)
class BeforeLast(AgentMiddleware[Any, Any]):
    pass


@Next(AfterFirst)
class AfterExtra(AgentMiddleware[Any, Any]):
    pass


@Prev(Free)
class BeforeFree(AgentMiddleware[Any, Any]):
    pass


def chain() -> list[Slot]:
    return [Slot(kind(), import_string_of(kind)) for kind in (First, Second, Last)]


def placed(*extra: AgentMiddleware[Any, Any]) -> list[str]:
    return [seat.middleware.name for seat in order_middleware(chain(), extra)]


def test_without_an_anchor_they_go_just_before_the_last_in_their_order() -> None:
    assert placed() == ["First", "Second", "Last"]
    assert placed(Other(), Free()) == ["First", "Second", "Other", "Free", "Last"]


def test_beside_a_built_in_one() -> None:
    assert placed(AfterFirst()) == ["First", "AfterFirst", "Second", "Last"]
    assert placed(BeforeFirst()) == ["BeforeFirst", "First", "Second", "Last"]
    assert placed(BeforeLast(), Free()) == ["First", "Second", "Free", "BeforeLast", "Last"]


def test_beside_another_extra_one() -> None:
    assert placed(BeforeFree(), Free()) == ["First", "Second", "BeforeFree", "Free", "Last"]


@given(
    st.permutations([AfterExtra, AfterFirst, BeforeFirst, BeforeLast, BeforeFree, Free]),
)
def test_the_order_in_which_they_are_given_does_not_matter(
    kinds: list[type[AgentMiddleware[Any, Any]]],
) -> None:
    assert placed(*(kind() for kind in kinds)) == [
        "BeforeFirst",
        "First",
        "AfterFirst",
        "AfterExtra",
        "Second",
        "BeforeFree",
        "Free",
        "BeforeLast",
        "Last",
    ]


def test_an_instance_that_replaces_a_built_in_one_keeps_its_place_and_its_anchor() -> None:
    seats = [Slot(Other(), import_string_of(First)), Slot(Last(), import_string_of(Last))]
    found = order_middleware(seats, [AfterFirst()])
    assert [seat.middleware.name for seat in found] == ["Other", "AfterFirst", "Last"]


def test_a_subclass_stands_for_its_base_and_takes_over_its_place() -> None:
    class Special(First):
        pass

    class AfterFirstToo(AfterFirst):
        pass

    seats = [Slot(Special()), Slot(Last())]
    assert [seat.middleware.name for seat in order_middleware(seats, [AfterFirstToo()])] == [
        "Special",
        "AfterFirstToo",
        "Last",
    ]


def test_a_subclass_may_choose_another_place() -> None:
    @Prev(Second)
    class Elsewhere(BeforeFirst):
        pass

    assert placed(Elsewhere()) == ["First", "Elsewhere", "Second", "Last"]


def refusal(*extra: Any) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        placed(*extra)
    return str(caught.value)


def test_one_place_for_two() -> None:
    @Next(First)
    class Rival(AgentMiddleware[Any, Any]):
        pass

    assert refusal(AfterFirst(), Rival()) == (
        "AfterFirst and Rival are both placed @Next(First); anchor one of them to the other."
    )


def test_two_places_for_one() -> None:
    @Next(First)
    @Prev(Last)
    class Torn(AgentMiddleware[Any, Any]):
        pass

    assert refusal(Torn()) == "Torn has two anchors, @Prev(Last) and @Next(First); keep one."


def test_an_anchor_that_is_not_there() -> None:
    assert refusal(AfterExtra()) == (
        "AfterExtra is placed @Next(AfterFirst), which is not in the chain: First, Second, Last."
    )


def test_an_anchor_that_fits_several() -> None:
    @Next(AgentMiddleware)
    class Vague(AgentMiddleware[Any, Any]):
        pass

    assert refusal(Vague()) == (
        "@Next(AgentMiddleware) matches several: First, Second, Last; name one of them."
    )


def test_nothing_comes_after_the_last() -> None:
    @Next(Last)
    class TooLate(AgentMiddleware[Any, Any]):
        pass

    assert refusal(TooLate()) == "TooLate can't come after Last, which is always last; use @Prev(Last)."


def test_a_circle_names_those_in_it_and_nobody_else() -> None:
    class Chicken(AgentMiddleware[Any, Any]):
        pass

    @Next(Chicken)
    class Egg(AgentMiddleware[Any, Any]):
        pass

    @Next(Egg)
    class Omelette(AgentMiddleware[Any, Any]):
        pass

    Prev(Egg)(Chicken)
    assert refusal(Omelette(), Chicken(), Egg()) == (
        "These anchors form a cycle: Egg @Next(Chicken), Chicken @Prev(Egg); "
        "anchor one of them to something else."
    )


def test_one_that_is_anchored_to_itself() -> None:
    class Narcissus(AgentMiddleware[Any, Any]):
        pass

    Next(Narcissus)(Narcissus)
    assert "a cycle: Narcissus @Next(Narcissus);" in refusal(Narcissus())


def test_the_same_class_twice() -> None:
    assert refusal(Free(), Free()) == (
        "The chain contains Free twice; keep one, or give the other its own `name`."
    )
    assert refusal(Second()).startswith("The chain contains Second twice;")


def test_two_with_one_name() -> None:
    class Masked(AgentMiddleware[Any, Any]):
        name = "Free"

    assert refusal(Free(), Masked()) == "Free and Masked have the same name, Free; rename one."


def test_a_second_one_under_a_name_of_its_own() -> None:
    class Named(Free):
        name = "Named"

    assert placed(Free(), Named()) == ["First", "Second", "Free", "Named", "Last"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [(Free, "write Free()"), ("Free", "got 'Free'"), (None, "got None")],
)
def test_extras_are_instances(wrong: object, told: str) -> None:
    assert refusal(wrong) == f"Extra middleware must be instances; {told}."


@pytest.mark.parametrize(
    ("wrong", "told"),
    [("First", "'First'"), (int, "the class int"), (First(), "First object"), (None, "None")],
)
def test_an_anchor_is_a_middleware_class(wrong: Any, told: str) -> None:
    with pytest.raises(ValueError, match="@Next takes a middleware class as its anchor") as caught:
        Next(wrong)
    assert told in str(caught.value)
    with pytest.raises(ValueError, match="@Prev takes a middleware class as its anchor"):
        Prev(wrong)


def test_only_middleware_classes_are_placed() -> None:
    with pytest.raises(ValueError, match=r"@Next\(First\) places middleware classes, not the class int"):
        Next(First)(int)  # type: ignore[type-var]


@pytest.mark.parametrize(("wrong", "told"), [("yes", "'yes'"), (Free, "the class Free"), (None, "None")])
def test_a_feature_is_a_switch_or_an_instance(wrong: Any, told: str) -> None:
    with pytest.raises(
        ValueError, match=f"feature memory is True, False or a middleware instance, not {told}"
    ):
        RuntimeFeatures(memory=wrong)


def test_the_features_have_their_published_defaults() -> None:
    assert RuntimeFeatures() == RuntimeFeatures(
        sandbox=True,
        memory=False,
        summarization=False,
        subagent=False,
        vision=False,
        auto_title=False,
        loop_detection=True,
        guardrail=False,
        deferred_tools=False,
    )
