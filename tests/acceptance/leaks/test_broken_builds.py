"""The oracle finds what it is for: builds that are broken in one place each are caught."""

from dataclasses import replace

import msgspec
import psycopg
import pytest

from server.actions import reactions
from server.actions.access import apply, diff
from server.actions.messages import audience
from server.domain.channels import Standing
from server.realtime.audience import LiveUser
from testkit.database import new_database
from testkit.leaks.run import Plan, run

ENOUGH_CHECKS = 60_000
SHRUNK = 25


@pytest.fixture
def failure_of(server_url, template_database):
    """What the oracle finds in a run, on a database that has been sabotaged by this SQL."""

    def failure_of(sabotage=None, shrink_seconds=0.0, seed=5):
        with new_database(server_url, template_database) as url:
            if sabotage is not None:
                sabotaged(url, sabotage)
            plan = Plan(
                checks=ENOUGH_CHECKS, seed=seed, shrink_seconds=shrink_seconds, shrink_to=SHRUNK
            )
            report = run(plan, url, print)
        assert report.failure is not None, "the oracle found nothing"
        return report.failure

    return failure_of


def sabotaged(url, statement):
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(statement)
        # What is replaced is what the server calls: there is one of that name.
        [(count,)] = database.execute(
            "SELECT count(*) FROM pg_proc WHERE proname = 'channel_access'"
        )
    assert count == 1


def problems_of(failure):
    return "\n".join(failure.problems)


ACCESS = """
    CREATE OR REPLACE FUNCTION channel_access(
        p_user_id bigint, p_role smallint, p_is_subscribed boolean, p_channel channels)
        RETURNS integer
        LANGUAGE sql STABLE
        AS $$
        SELECT CASE
            WHEN p_channel.is_web_public
                 OR (NOT p_channel.invite_only AND p_role <> {guest}) THEN 2
            WHEN {is_outside} AND (p_role = 600 OR NOT channel_grants_content(
                     p_channel.realm_id, p_user_id, p_channel.permissions)) THEN 0
            WHEN NOT p_channel.invite_only OR p_channel.history_public_to_subscribers THEN 2
            ELSE {protected}
        END
    $$
"""


def access(guest="600", is_outside="p_is_subscribed IS NOT TRUE", protected="1"):
    return ACCESS.format(guest=guest, is_outside=is_outside, protected=protected)


def test_the_harness_is_sound_where_nothing_is_broken(server_url, template_database):
    with new_database(server_url, template_database) as url:
        sabotaged(url, access())
        assert run(Plan(checks=1, seed=5), url).failure is None


def test_protected_history_that_is_ignored_is_caught(failure_of):
    assert "must not see" in problems_of(failure_of(access(protected="2"), seed=3))


def test_a_channel_that_is_read_on_after_leaving_is_caught_and_the_history_shrinks(failure_of):
    failure = failure_of(access(is_outside="p_is_subscribed IS NULL"), shrink_seconds=300, seed=8)
    assert "must not see" in problems_of(failure)
    assert len(failure.operations) <= SHRUNK


def test_guests_who_read_everything_are_caught(failure_of):
    assert "must not" in problems_of(failure_of(access(guest="-1")))


def test_an_audience_that_is_computed_once_is_caught(failure_of, monkeypatch):
    monkeypatch.setattr(LiveUser, "left", lambda *_: None)
    assert "queue: must not have got" in problems_of(failure_of())


def test_newcomers_who_are_forgotten_are_caught(failure_of, monkeypatch):
    monkeypatch.setattr(LiveUser, "joined", lambda *_: None)
    assert "queue: never got" in problems_of(failure_of())


def test_private_channels_known_to_all_are_caught(failure_of, monkeypatch):
    monkeypatch.setattr(Standing, "sees", lambda *_, **__: True)
    assert "must not see" in problems_of(failure_of())


def test_reactions_that_go_to_newcomers_of_protected_channels_are_caught(failure_of, monkeypatch):
    async def of_message(*args):
        return msgspec.structs.replace(await sound(*args), received_in=None, received_at=None)

    sound = audience.of_message
    monkeypatch.setattr(reactions, "of_message", of_message)
    assert "must not have got ('reaction'" in problems_of(failure_of())


@pytest.mark.parametrize(
    "broken",
    [
        lambda diff: replace(diff, metadata_lost={}),
        lambda diff: replace(diff, metadata_gained={}),
    ],
    ids=["lost", "gained"],
)
def test_a_diff_of_access_that_leaves_something_out_is_caught(failure_of, monkeypatch, broken):
    right = diff.compare
    monkeypatch.setattr(apply, "compare", lambda *states: broken(right(*states)))
    assert "stream" in problems_of(failure_of())
