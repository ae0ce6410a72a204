"""Who counts as active, idle or offline, in either form of the protocol."""

import pytest

from server.domain.presence import (
    ACTIVE_LAG_SECONDS,
    DEFAULT_HISTORY_DAYS,
    NEWS_AFTER_SECONDS,
    OFFLINE_AFTER_SECONDS,
    PING_INTERVAL_SECONDS,
    Presence,
)
from server.events.base import ClientView
from server.events.presence import PresencesChanged
from storage.ids import Position, UserId
from testkit.oracles import contract

NOW = 1_800_000_000


def seen(active: int, idle: int) -> Presence:
    """A user who was active and seen so many seconds ago."""
    return Presence(UserId(7), "seven@example.com", NOW - active, NOW - idle)


@pytest.mark.parametrize(
    ("active", "idle", "status"),
    [
        (0, 0, "active"),
        (OFFLINE_AFTER_SECONDS, OFFLINE_AFTER_SECONDS, "active"),
        (OFFLINE_AFTER_SECONDS + 1, OFFLINE_AFTER_SECONDS, "idle"),
        (OFFLINE_AFTER_SECONDS + 1, OFFLINE_AFTER_SECONDS + 1, "offline"),
        (10**6, 0, "idle"),
    ],
)
def test_the_thresholds_are_those_that_clients_are_told(active, idle, status):
    assert seen(active, idle).status(NOW) == status


def test_the_numbers_are_those_of_the_contract():
    limits = contract.limits()
    if not limits:
        return
    ours = {
        "presence_history_limit_days_default": DEFAULT_HISTORY_DAYS,
        "presence_offline_threshold_secs": OFFLINE_AFTER_SECONDS,
        "presence_ping_interval_secs": PING_INTERVAL_SECONDS,
    }
    assert {name: limits["numbers"][name]["value"] for name in ours} == ours


def test_in_the_legacy_form_the_last_ping_but_one_may_have_been_the_active_one():
    assert seen(ACTIVE_LAG_SECONDS, 0).legacy()["website"] == {
        "client": "website",
        "status": "active",
        "timestamp": NOW - ACTIVE_LAG_SECONDS,
        "pushable": False,
    }
    shown = seen(ACTIVE_LAG_SECONDS + 1, 0).legacy_with_aggregate()
    assert shown["aggregated"] == {"client": "website", "status": "idle", "timestamp": NOW}
    assert shown["website"]["status"] == "idle"


def test_a_ping_never_takes_anything_back():
    known = seen(10, 0)
    assert known.with_ping(NOW - 30, active=True) == known
    assert known.with_ping(NOW + 5, active=False).modern() == {
        "active_timestamp": NOW - 10,
        "idle_timestamp": NOW + 5,
    }
    assert known.with_ping(NOW + 5, active=True).modern() == {
        "active_timestamp": NOW + 5,
        "idle_timestamp": NOW + 5,
    }


def test_what_was_said_a_moment_ago_is_no_news():
    soon, late = NEWS_AFTER_SECONDS - 1, NEWS_AFTER_SECONDS
    assert seen(soon, soon).knows(NOW, active=True)
    assert not seen(late, soon).knows(NOW, active=True)
    assert seen(late, soon).knows(NOW, active=False)
    assert not seen(late, late).knows(NOW, active=False)


def test_clients_with_simplified_events_get_one_for_all():
    people = [seen(0, 0), Presence(UserId(8), "eight@example.com", NOW, NOW)]
    event = PresencesChanged(people=people, server_timestamp=NOW)
    [whole] = event.wire(Position(1), ClientView(simplified_presence_events=True))
    assert whole["presences"]["8"] == {"active_timestamp": NOW, "idle_timestamp": NOW}
    assert list(whole["presences"]) == ["7", "8"]
    slim = event.wire(Position(1), ClientView(slim_presence=True))
    old = event.wire(Position(1), ClientView())
    assert [each["user_id"] for each in slim] == [each["user_id"] for each in old] == [7, 8]
    assert ["email" in each for each in (*slim, *old)] == [False, False, True, True]
    contract.validate_event({**whole, "id": 1})
    for single in (*slim, *old):
        contract.validate_event({**single, "id": 1})
        contract.validate_mobile({**single, "id": 1}, "event", "presence")
