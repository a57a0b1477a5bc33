"""Every sample of every source folds to its state, in any order and however often its events arrive."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

import pytest

from bot.features.events.alerts import Event, Group, Status
from bot.features.events.sources.base import EventRequest, SourceKind

from .samples import SAMPLES, Sample, alertmanager

NAMES = [sample.name for sample in SAMPLES]
State = Mapping[str, tuple[str, int]]


def events_of(sample: Sample) -> list[Event]:
    return [event for delivery in sample.deliveries for event in sample.kind.read(delivery)]


def fold(events: Iterable[Event]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for now, event in enumerate(events, 1):
        groups[event.group] = groups.get(event.group, Group()).fold(event, now)
    return groups


def states(groups: Mapping[str, Group]) -> State:
    return {key: (group.status.value, group.count(Status.FIRING)) for key, group in groups.items()}


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_a_sample_leads_to_its_state(sample: Sample) -> None:
    assert states(fold(events_of(sample))) == sample.expected


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_order_and_repetition_make_no_difference(sample: Sample) -> None:
    events = events_of(sample)
    for seed in range(50):
        chance = random.Random(seed)
        mixed = [*events, *chance.choices(events, k=chance.randrange(4))] if events else []
        chance.shuffle(mixed)
        assert states(fold(mixed)) == sample.expected, seed


def by_group_status(sample: Sample) -> State:
    """The state is what the last event says of its group."""
    found: dict[str, tuple[str, int]] = {}
    for event in events_of(sample):
        firing = sum(one.status is Status.FIRING for one in event.reports)
        worst = min((one.status for one in event.reports), key=list(Status).index, default=Status.RESOLVED)
        found[event.group] = (worst.value, firing)
    return found


def by_last_arrival(sample: Sample) -> State:
    """The state of an alert is what arrived last, in whatever order the events came."""
    events = events_of(sample)
    random.Random(3).shuffle(events)
    alerts: dict[str, dict[str, Status]] = {}
    for event in events:
        group = alerts.setdefault(event.group, {})
        group.update({one.key: one.status for one in event.reports})
    return summary(alerts)


def by_ledger(sample: Sample) -> State:
    """A repeated body is dropped; otherwise the last arrival wins."""
    seen: set[bytes] = set()
    alerts: dict[str, dict[str, Status]] = {}
    for delivery in sample.deliveries:
        if delivery.body in seen:
            continue
        seen.add(delivery.body)
        for event in sample.kind.read(delivery):
            alerts.setdefault(event.group, {}).update({one.key: one.status for one in event.reports})
    return summary(alerts)


def by_absence(sample: Sample) -> State:
    """An alert that is not listed is resolved."""
    alerts: dict[str, dict[str, Status]] = {}
    for event in events_of(sample):
        alerts[event.group] = {one.key: one.status for one in event.reports}
    return summary(alerts)


def summary(alerts: Mapping[str, Mapping[str, Status]]) -> State:
    found = {}
    for key, group in alerts.items():
        worst = min(group.values(), key=list(Status).index, default=Status.RESOLVED)
        found[key] = (worst.value, sum(one is Status.FIRING for one in group.values()))
    return found


@pytest.mark.parametrize(
    ("simpler", "least"),
    [(by_group_status, 4), (by_last_arrival, 10), (by_ledger, 3), (by_absence, 4)],
)
def test_simpler_folds_get_samples_wrong(simpler: Callable[[Sample], State], least: int) -> None:
    wrong = [sample.name for sample in SAMPLES if simpler(sample) != sample.expected]
    print(f"{simpler.__doc__} Wrong in {len(wrong)} of {len(SAMPLES)} samples:", *wrong, sep="\n  ")
    assert len(wrong) >= least


def tentative(*specs: str) -> Group:
    """A group that folded these alerts, one event each, a second apart."""
    return lists(*map(alertmanager, specs))


def test_a_firing_with_the_start_of_a_resolved_episode_waits_for_what_follows() -> None:
    group = tentative("a firing 10", "a resolved 10 60", "a firing 10")
    assert group.status is Status.RESOLVED
    assert group.confirm(302.0, 300.0).status is Status.RESOLVED
    assert group.confirm(303.0, 300.0).status is Status.FIRING


def test_a_resolve_that_follows_shows_that_the_firing_was_stale() -> None:
    group = tentative("a firing 10", "a resolved 10 60", "a firing 10", "a resolved 10 60")
    assert group.confirm(1e6, 300.0).status is Status.RESOLVED


def test_what_fired_again_ends_by_a_later_end_only() -> None:
    group = tentative("a firing 10", "a resolved 10 60", "a firing 10").confirm(400.0, 300.0)
    (stale,) = SAMPLES[0].kind.read(alertmanager("a resolved 10 60"))
    (ended,) = SAMPLES[0].kind.read(alertmanager("a resolved 10 500"))
    assert group.fold(stale, 401.0).status is Status.FIRING
    assert group.fold(stale, 401.0).fold(ended, 402.0).status is Status.RESOLVED


def lists(*bodies: EventRequest) -> Group:
    """A group that folded these lists, a second apart."""
    group = Group()
    for now, body in enumerate(bodies, 1):
        for event in SAMPLES[0].kind.read(body):
            group = group.fold(event, float(now))
    return group


@pytest.mark.parametrize("silenced", ["a firing 10", "b firing 20"])
def test_an_alert_that_leaves_the_list_has_no_updates_after_an_interval(silenced: str) -> None:
    """A silence leaves no later time in the list by which its order could be known."""
    both = ["a firing 10", "b firing 20"]
    (left,) = {*both} - {silenced}
    group = lists(alertmanager(*both), alertmanager(left), alertmanager(left))
    assert group.confirm(301.0, 300.0).count(Status.FIRING) == 2
    settled = group.confirm(302.0, 300.0)
    assert (settled.count(Status.FIRING), settled.count(Status.NO_NEWS)) == (1, 1)
    for body, firing in ((alertmanager(left), 1), (alertmanager(*both), 2)):
        (event,) = SAMPLES[0].kind.read(body)
        assert settled.fold(event, 400.0).confirm(1e6, 300.0).count(Status.FIRING) == firing


def test_an_alert_that_returns_to_the_list_is_active_after_an_interval() -> None:
    ended = alertmanager("a resolved 10 60")
    group = lists(alertmanager("a firing 10", "b firing 20"), ended, alertmanager("b firing 20"))
    assert group.confirm(302.0, 300.0).status is Status.NO_NEWS
    assert group.confirm(303.0, 300.0).status is Status.FIRING
    (event,) = SAMPLES[0].kind.read(ended)
    assert group.fold(event, 4.0).confirm(1e6, 300.0).status is Status.NO_NEWS


def test_a_pair_that_ends_a_fast_flap_with_an_earlier_episode_has_ended_it() -> None:
    """The lagging one says that all is resolved, so neither says so again when the newest episode ends."""
    newest, earlier = alertmanager("a firing 52"), alertmanager("a resolved 51 51.8")
    group = lists(newest, earlier)
    assert group.confirm(301.0, 300.0).status is Status.FIRING
    ended = group.confirm(302.0, 300.0)
    assert ended.status is Status.RESOLVED
    assert lists(newest, earlier, newest).confirm(1e6, 300.0).status is Status.FIRING
    (event,) = SAMPLES[0].kind.read(newest)
    assert ended.fold(event, 400.0).confirm(1e6, 300.0).status is Status.FIRING


def test_an_old_list_before_the_newest_one_changes_nothing() -> None:
    both = alertmanager("a firing 10", "b firing 20")
    group = lists(both, alertmanager("a firing 10"), both)
    assert group.confirm(1e6, 300.0).count(Status.FIRING) == 2
    cut = lists(both, alertmanager("a firing 10", truncated=1))
    assert cut.confirm(1e6, 300.0).count(Status.FIRING) == 2


KINDS = {sample.kind.name: sample.kind for sample in SAMPLES}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_sample_that_a_source_is_tried_with(kind: SourceKind) -> None:
    began = kind.read(kind.sample(1_800_000_000.0, None))
    ended = kind.read(kind.sample(1_800_000_000.0, 1_800_000_060.0))
    assert [group.status for group in fold(began).values()] == [Status.FIRING]
    assert [group.status for group in fold([*began, *ended]).values()] == [Status.RESOLVED]
    assert [group.status for group in fold([*ended, *began]).values()] == [Status.RESOLVED]
