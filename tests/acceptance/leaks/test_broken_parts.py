"""Short histories that lead to one thing each: the oracle finds it where that is broken."""

from dataclasses import replace

import psycopg
import pytest
import uvloop

from server.actions.access import apply, diff
from server.actions.access.diff import AccessDiff
from server.actions.messages import notices
from server.actions.messages.content import ReadContent
from server.domain.channels import Standing
from server.domain.shown_people import EVERYTHING, PeopleVisibility
from server.events.log import QueuesEnded
from server.events.messages import MessageSent
from server.events.reactions import Reaction
from server.realm_cache import RealmCache
from server.realtime import queues, variants
from storage.ids import Position
from testkit.database import new_database
from testkit.leaks import queues as watched
from testkit.leaks.changes import SetPolicy
from testkit.leaks.history import relive
from testkit.leaks.membership import Archive, ChangePrivacy, Create, Privacy, Subscribe, Unsubscribe
from testkit.leaks.model import ADMINISTRATOR, GUEST, SPECTATOR, Grant
from testkit.leaks.moves import Move
from testkit.leaks.operations import Flag, Named, React, Send, Type
from testkit.leaks.people import ChangeGroup, ChangeRole, LetSpectators
from testkit.leaks.together import Together
from testkit.leaks.world import serve

FOUNDER, ADMIN, MEMBER_1, MEMBER_3, MEMBER_4, MEMBER_5 = 0, 1, 1, 3, 4, 5
PUBLIC, PRIVATE = Privacy(), Privacy(is_private=True)
WEB_PUBLIC, PROTECTED = Privacy(is_web_public=True), Privacy(is_private=True, is_protected=True)
CHANNEL, SENT, NEXT = 4, 8, 12
FOLLOWED = 3
GROUP = 1


@pytest.fixture
def problems_in(server_url, template_database):
    """What the oracle finds in this history, and when these then read; on a database like that."""

    def problems_in(operations, *looks, sabotage=None):
        with new_database(server_url, template_database) as url:
            if sabotage is not None:
                with psycopg.connect(url, autocommit=True) as database:
                    database.execute(sabotage)
            failure = uvloop.run(_relived(url, operations, looks))
        return "" if failure is None else "\n".join(failure.problems)

    return problems_in


@pytest.fixture
def impatient(monkeypatch):
    """Events that never come are given up after three seconds: what is broken is missing anyway."""
    monkeypatch.setattr(watched, "OVERDUE_SECONDS", 3.0)


async def _relived(url, operations, looks):
    async with serve(url) as place:
        suspects = frozenset((operations[0].realm, user, way) for user, way in looks)
        return await relive(place, "h", "1", operations, suspects)


def step(kind, number, actor=FOUNDER, **fields):
    return kind(number=number, realm=0, actor=actor, **fields)


def channel(privacy, *people, **grants):
    return step(Create, CHANNEL, privacy=privacy, subscribers=people, grants=grants)


def sent(actor=FOUNDER, **fields):
    return step(Send, SENT, actor, channel=CHANNEL, topic="plans", **fields)


IN_CHANNEL, IN_PUBLIC = "history of a channel", "channel in public"


def demotion():
    """A member in the server's caches becomes a guest."""
    return (
        channel(PUBLIC, FOUNDER),
        sent(),
        step(React, NEXT, MEMBER_3, message=SENT, emoji="heart"),
        step(ChangeRole, 16, user=MEMBER_3, role=GUEST),
    )


def naming():
    return (
        channel(PUBLIC, FOUNDER, MEMBER_3, MEMBER_4),
        sent(names=Named(people=(MEMBER_3,), groups=(1,))),
    )


def opening():
    return channel(WEB_PUBLIC, FOUNDER), sent(), step(LetSpectators, NEXT, may_look=True)


def restriction():
    few = Grant(people=frozenset({FOUNDER}))
    return channel(PUBLIC, FOUNDER, MEMBER_3, can_send_message_group=few), sent(MEMBER_3)


def renaming_behind(user, privacy=PRIVATE):
    """A user follows a topic and leaves; then it gets another name."""
    return (
        channel(privacy, FOUNDER, user),
        sent(),
        step(SetPolicy, NEXT, user, channel=CHANNEL, topic="plans", policy=FOLLOWED),
        step(Unsubscribe, 16, user, channel=CHANNEL, people=(user,)),
        step(Move, 20, message=SENT, topic="lunch", mode="change_all"),
    )


def renaming_before():
    """A user follows a topic of which they may read nothing; then it gets another name."""
    return (
        channel(PROTECTED, FOUNDER),
        sent(),
        step(Subscribe, NEXT, channel=CHANNEL, people=(MEMBER_3,)),
        step(SetPolicy, 16, MEMBER_3, channel=CHANNEL, topic="plans", policy=FOLLOWED),
        step(Move, 20, message=SENT, topic="lunch", mode="change_all"),
    )


def resolving():
    return (
        channel(PRIVATE, FOUNDER, MEMBER_3),
        sent(),
        step(Move, NEXT, MEMBER_3, message=SENT, topic="✔ plans", mode="change_all"),
        step(Move, 16, message=SENT, topic="lunch", notifies_old=True, notifies_new=True),
    )


def hiding_and_showing():
    """A channel becomes private and public again while two users follow a topic in it."""
    return (
        channel(PUBLIC, FOUNDER),
        sent(),
        step(SetPolicy, NEXT, MEMBER_3, channel=CHANNEL, topic="plans", policy=FOLLOWED),
        step(SetPolicy, 16, ADMIN, channel=CHANNEL, topic="plans", policy=FOLLOWED),
        step(ChangePrivacy, 20, channel=CHANNEL, privacy=PRIVATE),
        step(ChangePrivacy, 24, channel=CHANNEL, privacy=PUBLIC),
    )


def hiding_history():
    """A channel hides its history from a user who starred a message, and may not read it now."""
    return (
        channel(PUBLIC, FOUNDER),
        sent(),
        step(Flag, NEXT, MEMBER_5, messages=(SENT,), flag="starred", op="add"),
        step(ChangeRole, 16, user=MEMBER_5, role=GUEST),
        step(ChangePrivacy, 20, channel=CHANNEL, privacy=PROTECTED),
    )


def archiving():
    """A private channel is archived after a user who starred a message in it has left."""
    return (
        channel(PUBLIC, MEMBER_3),
        step(Create, NEXT, privacy=PROTECTED, subscribers=(FOUNDER, MEMBER_3), grants={}),
        sent(MEMBER_3),
        step(Move, 16, message=SENT, topic="lunch", channel=NEXT, mode="change_one"),
        step(Flag, 20, MEMBER_3, messages=(SENT,), flag="starred", op="add"),
        step(Unsubscribe, 24, channel=NEXT, people=(MEMBER_3,)),
        step(Archive, 28, channel=NEXT, archived=True),
    )


def granting():
    """A user joins, leaves and joins a group that a permission of a private channel names."""
    few = Grant(groups=frozenset({GROUP}))
    return (
        channel(PRIVATE, FOUNDER, can_subscribe_group=few),
        sent(),
        step(ChangeGroup, NEXT, group=GROUP, user=MEMBER_5, joins=True),
        step(SetPolicy, 16, MEMBER_5, channel=CHANNEL, topic="plans", policy=FOLLOWED),
        step(ChangeGroup, 20, group=GROUP, user=MEMBER_5, joins=False),
        step(ChangeGroup, 24, group=GROUP, user=MEMBER_5, joins=True),
    )


def joining_again():
    """An administrator leaves a private channel with read state, sees it still, and joins it."""
    return (
        channel(PRIVATE, FOUNDER, ADMIN),
        sent(),
        step(Flag, NEXT, ADMIN, messages=(SENT,), flag="starred", op="add"),
        step(SetPolicy, 16, ADMIN, channel=CHANNEL, topic="plans", policy=FOLLOWED),
        step(Unsubscribe, 20, channel=CHANNEL, people=(ADMIN,)),
        step(Subscribe, 24, channel=CHANNEL, people=(ADMIN,)),
    )


def racing():
    """A user sends while they are removed, again and again."""
    operations = [channel(PRIVATE, FOUNDER, MEMBER_3)]
    for number in range(8, 168, 8):
        first = step(Send, number, MEMBER_3, channel=CHANNEL, topic="plans")
        second = step(Unsubscribe, number + 2, channel=CHANNEL, people=(MEMBER_3,))
        operations += [
            step(Together, number, first=second, second=replace(first, number=number + 1))
            if number % 16
            else step(Together, number, first=first, second=second),
            step(Subscribe, number + 4, channel=CHANNEL, people=(MEMBER_3,)),
        ]
    return operations


GUEST_3 = 3
RESTRICTED = 1
"""The organization in which guests may know only people they meet."""


def meeting():
    """A guest reads a user's messages and reactions, before, while and after they meet."""

    def restricted(kind, number, actor, **fields):
        return kind(number=number, realm=RESTRICTED, actor=actor, **fields)

    def said(number):
        return restricted(Send, number, MEMBER_1, channel=CHANNEL, topic="plans")

    return (
        restricted(Create, CHANNEL, FOUNDER, privacy=PUBLIC, subscribers=(GUEST_3,), grants={}),
        said(SENT),
        restricted(React, NEXT, MEMBER_1, message=SENT, emoji="heart"),
        restricted(Type, 16, MEMBER_1, channel=CHANNEL, topic="plans", op="start"),
        restricted(Subscribe, 20, FOUNDER, channel=CHANNEL, people=(MEMBER_1,)),
        said(24),
        restricted(Unsubscribe, 28, MEMBER_1, channel=CHANNEL, people=(MEMBER_1,)),
        said(32),
    )


SOUND = {
    "meeting": (
        meeting(),
        (GUEST_3, IN_CHANNEL),
        (GUEST_3, "messages by ids"),
        (GUEST_3, "list of people"),
        (GUEST_3, "register"),
        (GUEST_3, "people by their addresses"),
    ),
    "demotion": (demotion(), (MEMBER_3, IN_CHANNEL)),
    "promotion": ((*demotion()[:3], step(ChangeRole, 16, user=6, role=ADMINISTRATOR)),),
    "naming": (naming(), (MEMBER_4, "mentions")),
    "opening": (opening(), (SPECTATOR, IN_PUBLIC), (SPECTATOR, "one in public")),
    "closing": (
        (*opening()[:2], step(LetSpectators, NEXT, may_look=False)),
        (SPECTATOR, IN_PUBLIC),
        (SPECTATOR, "all in public"),
        (SPECTATOR, "register in public"),
    ),
    "restriction": (restriction(),),
    "renaming behind a member": (renaming_behind(MEMBER_3), (MEMBER_3, "register")),
    "renaming behind an administrator": (renaming_behind(ADMIN), (ADMIN, "register")),
    "renaming in public": (renaming_behind(MEMBER_3, PUBLIC), (MEMBER_3, "register")),
    "renaming before a newcomer": (renaming_before(), (MEMBER_3, "register")),
    "resolving": (resolving(), (MEMBER_3, IN_CHANNEL)),
    "racing": (racing(), (MEMBER_3, IN_CHANNEL)),
    "hiding and showing": (hiding_and_showing(), (MEMBER_3, "register"), (ADMIN, "register")),
    "hiding history": (hiding_history(), (MEMBER_5, "register")),
    "archiving": (archiving(), (MEMBER_3, "register")),
    "granting": (granting(), (MEMBER_5, "register")),
    "joining again": (joining_again(), (ADMIN, "register")),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_not_broken_is_sound(problems_in, name):
    assert problems_in(*SOUND[name]) == ""


def test_queues_that_outlive_a_change_of_role_are_caught(problems_in, monkeypatch):
    monkeypatch.setattr(QueuesEnded, "ended_queues", lambda _: ())
    assert "goes on in another role" in problems_in(*SOUND["demotion"])


@pytest.mark.usefixtures("impatient")
def test_mentions_that_are_forgotten_are_caught(problems_in, monkeypatch):
    monkeypatch.setattr(ReadContent, "flags", lambda _: {})
    assert "never got ('named'" in problems_in(*SOUND["naming"])


def test_spectators_who_are_taken_for_members_are_caught(problems_in):
    history = (channel(PUBLIC, FOUNDER), sent())
    sabotage = without("channel_access", ("p_role <> 600", "true"))
    assert "must not see" in problems_in(history, (SPECTATOR, "ids in public"), sabotage=sabotage)


def test_a_setting_of_who_may_send_that_is_ignored_is_caught(problems_in, monkeypatch):
    def channel_permits(standing, row, name):
        return name == "can_send_message_group" or sound(standing, row, name)

    sound = Standing.channel_permits
    monkeypatch.setattr(Standing, "channel_permits", channel_permits)
    assert "must have been refused: Send" in problems_in(*SOUND["restriction"])


@pytest.mark.usefixtures("impatient")
def test_notices_that_are_not_sent_are_caught(problems_in, monkeypatch):
    monkeypatch.setattr(notices, "of_resolving", lambda *_: [])
    assert "never got ('message'" in problems_in(*SOUND["resolving"])


def without(function, *texts):
    """SQL that leaves these texts out of a function of the database."""
    changed = f"pg_get_functiondef('{function}'::regproc)"
    for text, instead in texts:
        changed = f"replace({changed}, '{text}', '{instead}')"
    return f"DO $do$ BEGIN EXECUTE {changed}; END $do$"


def test_policies_that_are_told_to_who_has_left_are_caught(problems_in):
    sabotage = without("append_user_topic_entries", ("a.access > 0", "true"))
    found = problems_in(*SOUND["renaming behind a member"], sabotage=sabotage)
    assert "must not have got ('user_topic'" in found


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", ["hiding and showing", "granting"])
def test_channels_that_are_not_removed_from_users_without_access_are_caught(
    problems_in, monkeypatch, name
):
    monkeypatch.setattr(apply, "remove_channels", lambda *_: None)
    assert "never got ('stream', 'delete', 4)" in problems_in(*SOUND[name])


@pytest.mark.parametrize("name", ["hiding and showing", "granting"])
def test_policies_in_channels_without_metadata_access_are_caught(problems_in, monkeypatch, name):
    monkeypatch.setattr(AccessDiff, "with_metadata", lambda _, pairs: set(pairs))
    assert "must not have got ('user_topic'" in problems_in(*SOUND[name])


@pytest.mark.parametrize("name", ["hiding and showing", "granting"])
def test_channels_that_are_published_without_metadata_access_are_caught(
    problems_in, monkeypatch, name
):
    """Everyone who loses a channel gets it at once again."""

    def compare(*states):
        found = sound(*states)
        return replace(found, metadata_gained=[*found.metadata_lost, *found.metadata_gained])

    sound = diff.compare
    monkeypatch.setattr(apply, "compare", compare)
    assert "must not have got ('stream', 'create', 4)" in problems_in(*SOUND[name])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("hiding and showing", "'user_topic'"),
        ("granting", "'user_topic'"),
        ("joining again", "'user_topic'"),
        ("joining again", "'update_message_flags', 'add', 'starred'"),
    ],
)
def test_read_state_that_is_not_restored_is_caught(problems_in, monkeypatch, name, event):
    monkeypatch.setattr(apply, "append_restored", lambda *_: None)
    assert f"never got ({event}" in problems_in(*SOUND[name])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("event", ["'user_topic'", "'update_message_flags', 'remove', 'starred'"])
def test_read_state_that_is_not_withdrawn_is_caught(problems_in, monkeypatch, event):
    monkeypatch.setattr(apply, "append_withdrawn", lambda *_: None)
    assert f"never got ({event}" in problems_in(*SOUND["joining again"])


def test_a_send_that_rests_on_what_was_is_caught(problems_in):
    """It is decided on what is known, and has to be verified when its turn has come."""
    unverified = ("AND s.changed_at IS NOT DISTINCT FROM p_subscription_version", "")
    found = problems_in(*SOUND["racing"], sabotage=without("send_one", unverified))
    assert "in no order" in found


def test_people_shown_to_all_by_history_are_caught(problems_in, monkeypatch):
    async def sight(*_):
        return EVERYTHING

    monkeypatch.setattr(RealmCache, "sight", sight)
    found = problems_in(*SOUND["meeting"])
    assert "shows user 1 as User 1" in found
    assert "people at /messages: must not see 1" in found


def test_addresses_that_reveal_their_use_are_caught(problems_in, monkeypatch):
    monkeypatch.setattr(PeopleVisibility, "is_found_by", lambda *_: True)
    history, *looks = SOUND["meeting"]
    found = problems_in(history, *[look for look in looks if "addresses" in look[1]])
    assert "what is found by the address of user" in found


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("event", [MessageSent, Reaction])
def test_events_that_show_strangers_are_caught(problems_in, monkeypatch, event):
    monkeypatch.setattr(event, "masked", lambda event, *_: event)
    assert "shown'" in problems_in(meeting())
    never_met = meeting()[:4]
    assert "must not have heard of person 1 in an event" in problems_in(never_met)


def test_what_is_told_once_and_shows_strangers_is_caught(problems_in, monkeypatch):
    """A user begins to write to a guest who does not know them yet."""
    writing = Type(number=4, realm=RESTRICTED, actor=MEMBER_1, people=(GUEST_3,), op="start")
    # The guest's client waits for what comes after it, and not for what it need not get.
    after = Send(number=8, realm=RESTRICTED, actor=GUEST_3, people=(GUEST_3,))
    assert problems_in([writing, after]) == ""
    monkeypatch.setattr(queues, "masking_for", lambda *_: None)
    assert "must not have heard of person 1 in an event typing" in problems_in([writing, after])


@pytest.mark.usefixtures("impatient")
def test_people_who_are_shown_as_they_are_known_in_the_end_are_caught(problems_in, monkeypatch):
    """What was known at an entry's position decides, not what is known when it is sent."""

    def masking_for(event, user, position):
        del position
        return sound(event, user, Position(2**40))

    sound = variants.masking_for
    monkeypatch.setattr(variants, "masking_for", masking_for)
    assert "never got ('message shown', 24" in problems_in(meeting())
