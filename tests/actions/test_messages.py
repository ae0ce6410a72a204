"""Sending, flagging and reacting: who is told, and whether events lead where register does."""

from functools import partial

import pytest
import pytest_asyncio

from server.actions.message_flags import change_flag
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.send import prepare, send_message
from server.actions.reactions import add_reaction, remove_reaction
from server.domain.access import ADMINISTRATOR, GUEST
from server.domain.emoji import WantedEmoji
from server.domain.errors import (
    BadRequestError,
    ChannelDoesNotExistError,
    ChannelWildcardNotAllowedError,
    ReactionAlreadyExistsError,
    ReactionDoesNotExistError,
    TopicWildcardNotAllowedError,
)
from storage import message_flags
from testkit.factories import Make
from testkit.oracles.agreement import Witnesses
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio

TADA = WantedEmoji("tada")


@pytest_asyncio.fixture
async def cast(make: Make):
    """Alice, Bob, Carol and a guest are in the channel; Dave is not."""
    alice, bob, carol, dave = [await make.user(n) for n in ("Alice", "Bob", "Carol", "Dave")]
    guest = await make.user("Guest", role=GUEST)
    return alice, bob, carol, dave, guest


@pytest_asyncio.fixture
async def channel(make: Make, cast):
    alice, bob, carol, _, guest = cast
    return await make.channel("general", subscribers=[alice, bob, carol, guest])


@pytest_asyncio.fixture
async def say(stage: Stage, make: Make):
    async def say(user, content="hello", *, client="website", **facts):
        actor = await make.actor(user)
        actor = type(actor)(actor.realm_id, actor.row, client)
        kind = "direct" if "to" in facts and isinstance(facts["to"], list) else "channel"
        draft = OutgoingMessage(**{"type": kind, "topic": "t", "content": content, **facts})
        realm_cache = stage.realm_caches.of(make.realm_id)
        decision = await prepare(realm_cache, actor, draft, stage.database.connection)
        clocked = await stage.write(send_message, actor, draft, decision, stage.clock.now())
        return clocked.result

    return say


async def test_a_channel_message_reaches_its_subscribers(say, cast, channel, witnesses: Witnesses):
    # A user who is not in a channel learns of its first message with the next register.
    await say(cast[1], to=channel.channel_id, topic="first")
    seen = await witnesses.watch(lambda: say(cast[0], to=channel.channel_id), cast)
    told = {
        each.user.full_name: [e["type"] for e in each.events]
        for each in seen
        if each.view.empty_topic_name
    }
    assert told["Alice"] == ["message", "user_topic"]
    assert told["Bob"] == told["Carol"] == told["Guest"] == ["message"]
    assert told["Dave"] == []


async def test_a_direct_message_reaches_its_people(say, cast, channel, witnesses: Witnesses):
    alice, bob, carol, *_ = cast
    for to in ([bob.user_id], [bob.user_id, carol.user_id], [alice.user_id], [bob.email]):
        seen = await witnesses.watch(partial(say, alice, to=to), cast)
        told = {each.user.user_id for each in seen if each.events}
        wanted = {bob.user_id if each == bob.email else each for each in to}
        assert told == wanted | {alice.user_id}


@pytest.mark.parametrize("mention", ["@**Bob**", "@**all**", "@**topic**", "@*helpers*"])
async def test_mentions_flag_those_who_receive(
    say, make, cast, channel, witnesses: Witnesses, mention
):
    alice, bob, _, dave, _ = cast
    await make.group("helpers", members=[bob, dave])
    await say(bob, to=channel.channel_id)
    await witnesses.watch(lambda: say(alice, f"hey {mention}", to=channel.channel_id), cast)


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_mention_of_the_topic_is_also_of_its_sender(
    stage, say, cast, channel, witnesses: Witnesses, is_new
):
    alice, bob, *_ = cast
    if not is_new:
        await say(bob, to=channel.channel_id)
    sent = await say(alice, "hey @**topic**", to=channel.channel_id)
    direct = await say(alice, "hey @**topic**", to=[bob.user_id])
    async with stage.database.connection() as connection:
        flagged = [
            await message_flags.states(
                connection,
                channel_realm(stage),
                user_ids=[alice.user_id, bob.user_id],
                message_ids=[each.message_id],
            )
            for each in (sent, direct)
        ]
    assert [["topic_wildcard_mentioned" in s.flags for s in states] for states in flagged] == [
        [True, not is_new],
        [False, False],
    ]
    # A sender who does not receive it has no flag, and every client is told so.
    for sender in (alice, cast[3]):
        to = {"to": channel.channel_id, "topic": f"of {sender.user_id}"}
        await witnesses.watch(partial(say, sender, "@**topic**", **to), cast)


async def test_silent_mentions_set_no_flags(stage, say, cast, channel):
    sent = await say(cast[0], "hey @_**Bob**", to=channel.channel_id)
    async with stage.database.connection() as connection:
        [state] = await message_flags.states(
            connection,
            channel_realm(stage),
            user_ids=[cast[1].user_id],
            message_ids=[sent.message_id],
        )
    assert "mentioned" not in state.flags


def channel_realm(stage):
    [realm_id] = stage.realm_caches._realm_caches
    return realm_id


@pytest.mark.parametrize(("client", "is_read"), [("website", True), ("curl", False)])
async def test_a_message_starts_read_for_a_sender_at_an_interactive_client(
    stage, say, cast, channel, witnesses: Witnesses, client, is_read
):
    [alice, _] = await witnesses.watch(
        lambda: say(cast[0], to=channel.channel_id, client=client), cast[:1]
    )
    [message] = [e for e in alice.events if e["type"] == "message"]
    assert ("read" in message["flags"]) is is_read


async def test_what_is_marked_as_read_and_unread_agrees_with_register(
    stage, make, say, cast, channel, witnesses: Witnesses
):
    alice, bob, carol, *_ = cast
    ids = [(await say(alice, to=channel.channel_id)).message_id for _ in range(3)]
    ids.append((await say(alice, to=[bob.user_id])).message_id)
    ids.append((await say(alice, to=[bob.user_id, carol.user_id])).message_id)
    actor = await make.actor(bob)
    for operation, flag, some in (
        ("add", "read", ids[:2]),
        ("add", "read", ids),
        ("remove", "read", ids[1:]),
        ("add", "starred", ids[:1]),
        ("remove", "starred", ids),
        ("add", "collapsed", ids[:1]),
    ):
        change = partial(stage.write, change_flag, actor, some, operation, flag)
        await witnesses.watch(change, [bob])


async def test_only_what_changes_is_told(stage, make, say, cast, channel):
    alice, bob, *_ = cast
    first = (await say(alice, to=channel.channel_id)).message_id
    second = (await say(alice, to=channel.channel_id)).message_id
    actor = await make.actor(bob)
    changed = await stage.write(change_flag, actor, [first], "add", "read")
    assert changed.result.message_ids == [first]
    changed = await stage.run(change_flag, actor, [first, second, 10**9], "add", "read")
    assert changed.result.message_ids == [second]
    await stage.run(change_flag, actor, [first, second], "add", "read")
    assert stage.happened == []


async def test_unread_is_only_for_channels_that_one_is_in(stage, make, say, cast, channel):
    alice, bob, *_ = cast
    sent = (await say(alice, to=channel.channel_id)).message_id
    await make.unsubscribe(channel, [bob])
    actor = await make.actor(bob)
    changed = await stage.write(change_flag, actor, [sent], "remove", "read")
    assert changed.result.message_ids == []


async def test_reactions_are_told_to_those_who_can_see_the_message(
    stage, make, say, cast, channel, witnesses: Witnesses
):
    alice, bob, *_ = cast
    sent = (await say(alice, to=channel.channel_id)).message_id
    actor = await make.actor(bob)
    seen = await witnesses.watch(
        lambda: stage.write(add_reaction, actor, sent, TADA, now=stage.clock.now()), cast
    )
    assert {each.user.full_name for each in seen if each.events} == {
        "Alice",
        "Bob",
        "Carol",
        "Guest",
    }
    with pytest.raises(ReactionAlreadyExistsError):
        await stage.write(add_reaction, actor, sent, TADA, now=stage.clock.now())
    await witnesses.watch(
        lambda: stage.write(remove_reaction, actor, sent, "tada", None, None), cast
    )
    with pytest.raises(ReactionDoesNotExistError):
        await stage.write(remove_reaction, actor, sent, "tada", None, None)


async def test_a_new_member_of_a_protected_channel_hears_nothing_of_its_past(
    stage, make, say, cast, witnesses: Witnesses
):
    alice, bob, *_ = cast
    closed = await make.channel("closed", subscribers=[alice], invite_only=True)
    sent = (await say(alice, to=closed.channel_id)).message_id
    await make.subscribe(closed, [bob])
    actor = await make.actor(alice)
    seen = await witnesses.watch(
        lambda: stage.write(add_reaction, actor, sent, TADA, now=stage.clock.now()), [alice, bob]
    )
    assert {each.user.full_name for each in seen if each.events} == {"Alice"}
    with pytest.raises(BadRequestError):
        await stage.write(add_reaction, await make.actor(bob), sent, TADA, now=stage.clock.now())


async def test_reacting_to_what_one_did_not_receive_makes_it_history(
    stage, make, say, cast, channel, witnesses: Witnesses
):
    alice, _, _, dave, _ = cast
    sent = (await say(alice, to=channel.channel_id)).message_id
    actor = await make.actor(dave)
    await witnesses.watch(
        lambda: stage.write(add_reaction, actor, sent, TADA, now=stage.clock.now()), [dave]
    )
    await witnesses.watch(lambda: stage.write(change_flag, actor, [sent], "add", "starred"), [dave])
    async with stage.database.connection() as connection:
        [state] = await message_flags.states(
            connection, make.realm_id, user_ids=[dave.user_id], message_ids=[sent]
        )
    assert {"historical", "read", "starred"} <= {*state.flags}


# -- who may send what where


async def test_strangers_do_not_learn_of_private_channels(say, make, cast):
    closed = await make.channel("closed", invite_only=True)
    for to in (closed.channel_id, "closed", "no such channel", 10**9):
        with pytest.raises(ChannelDoesNotExistError):
            await say(cast[0], to=to)


async def test_all_but_guests_may_post_in_a_public_channel(say, make, cast):
    open_ = await make.channel("open")
    assert (await say(cast[3], to=open_.channel_id)).message_id
    with pytest.raises(ChannelDoesNotExistError):
        await say(cast[4], to=open_.channel_id)


async def test_posting_in_an_archived_channel_is_refused(say, make, cast):
    old = await make.channel("old", subscribers=cast, is_archived=True)
    with pytest.raises(BadRequestError, match="Not authorized"):
        await say(cast[0], to=old.channel_id)


async def test_a_channel_says_who_may_post(say, make, cast):
    alice, bob, *_ = cast
    news = await make.channel("news", subscribers=[alice, bob], can_send_message_group=[alice])
    assert (await say(alice, to=news.channel_id)).message_id
    with pytest.raises(BadRequestError, match="permission to post"):
        await say(bob, to=news.channel_id)


@pytest.mark.parametrize("empty", ["", "(no topic)", "general chat"])
async def test_the_empty_topic_has_three_names(say, make, cast, empty):
    named = await make.channel("named", topics_policy="disable_empty_topic")
    only = await make.channel("only", topics_policy="empty_topic_only")
    assert (await say(cast[0], to=only.channel_id, topic=empty)).message_id
    with pytest.raises(BadRequestError) as refused:
        await say(cast[0], to=named.channel_id, topic=empty)
    assert refused.value.details == {"empty_topic_display_name": "general chat"}
    with pytest.raises(BadRequestError):
        await say(cast[0], to=only.channel_id, topic="named")


@pytest.mark.parametrize(
    ("content", "topic"),
    [
        ("", "t"),
        (" \n ", "t"),
        ("a\0b", "t"),
        ("x" * 10_001, "t"),
        ("x", "t" * 61),
        ("x", "a\nb"),
    ],
)
async def test_what_is_no_message_is_refused_and_never_cut(say, cast, channel, content, topic):
    with pytest.raises(BadRequestError):
        await say(cast[0], content, to=channel.channel_id, topic=topic)


async def test_the_longest_message_is_sent(say, cast, channel):
    longest = await say(cast[0], "ü" * 10_000, to=channel.channel_id, topic="ü" * 60)
    assert longest.message_id


@pytest.mark.parametrize("to", [[], [10**9], ["nobody@example.com"]])
async def test_a_direct_message_needs_people(say, cast, to):
    with pytest.raises(BadRequestError):
        await say(cast[0], to=to, type="direct")


async def test_writing_to_a_deactivated_user_is_refused(say, make, cast):
    gone = await make.user(is_active=False)
    with pytest.raises(BadRequestError, match="no longer using"):
        await say(cast[0], to=[gone.user_id])


async def test_topics_are_one_in_any_case_of_letters(stage, say, cast, channel):
    first = await say(cast[0], to=channel.channel_id, topic="Plans")
    await say(cast[1], to=channel.channel_id, topic="PLANS")
    async with stage.database.connection() as connection:
        names = await connection.values("SELECT name FROM topics WHERE name ILIKE 'plans'")
    assert names == ["Plans"]
    assert first.new_visibility_policy == 3


async def test_mentioning_many_needs_a_permission(say, make):
    people = await make.users(20)
    admin = await make.user(role=ADMINISTRATOR)
    large = await make.channel("large", subscribers=[*people, admin])
    with pytest.raises(ChannelWildcardNotAllowedError):
        await say(people[0], "@**all**", to=large.channel_id)
    assert (await say(admin, "@**all**", to=large.channel_id)).message_id
    assert (await say(people[0], "@**topic**", to=large.channel_id)).message_id
    for person in people:
        await say(person, to=large.channel_id)
    with pytest.raises(TopicWildcardNotAllowedError):
        await say(people[0], "@**topic**", to=large.channel_id)
    small = await make.channel("small", subscribers=people[:15])
    assert (await say(people[0], "@**all**", to=small.channel_id)).message_id
