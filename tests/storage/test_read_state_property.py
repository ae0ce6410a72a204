"""Received, read, flagged, readable, shown: the storage and a row per recipient always agree."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from server.domain.topic_policies import MUTED, UNMUTED
from storage import history, message_flags, muted_users, read_marks, read_state, user_topics
from storage.database import Connection, Statement
from storage.driver import PgConnection
from storage.history import NEWEST, OLDEST, HistoryWindow
from storage.ids import ChannelId, MessageId, TopicId, UserId
from tests.storage.read_state_driver import NOW, WRITE_ID, Driver, traits
from tests.storage.read_state_model import Channel, Looked, Message, Model
from tests.storage.read_state_scopes import PLACES, nth, scope_of, shown

PEOPLE = 3
KINDS = (
    Channel(invite_only=False, is_web_public=False, shares_history=True),
    Channel(invite_only=True, is_web_public=False, shares_history=True),
    Channel(invite_only=True, is_web_public=False, shares_history=False),
    Channel(invite_only=False, is_web_public=True, shares_history=True),
)
TOPICS = ("one", "two")
LOG: dict[str, Any] = {"audience": b"", "write_id": WRITE_ID}

# Numbers that choose among what there is, whatever there is.
some_user = st.integers(0, PEOPLE - 1)
some_channel = st.integers(0, 2)
some_topic = st.sampled_from(TOPICS)
some_kind = st.sampled_from(KINDS)
some_number = st.integers(0, 63)
some_messages = st.frozensets(some_number, min_size=1, max_size=8)


class ReadState(RuleBasedStateMachine):
    """Random histories, run on both; what differs is a bug."""

    runner: asyncio.Runner
    connection: Connection

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.turn = 0

    @initialize(
        kinds=st.tuples(some_kind, some_kind, some_kind),
        absent=st.frozensets(st.integers(0, PEOPLE * 3 - 1), max_size=3),
        sends=st.lists(
            st.tuples(some_user, some_channel, some_topic, st.booleans()), min_size=6, max_size=18
        ),
    )
    def open(self, kinds, absent, sends):
        """Never an empty realm: most histories would not get far."""
        self.run(self.connection.raw.rollback())
        self.run(self.connection.execute("BEGIN"))
        self.driver = self.run(Driver.in_new_realm(self.connection, PEOPLE, kinds))
        self.users = sorted(self.driver.people)
        self.channels = sorted(self.driver.channels)
        self.model.roles = dict.fromkeys(self.users, 400)
        self.model.channels = dict(zip(self.channels, map(replace, kinds), strict=True))
        for number in sorted({*range(PEOPLE * 3)} - absent):
            self._join(self.users[number // 3], self.channels[number % 3])
        for user, channel, topic, is_read in sends:
            self._send(user, channel, topic, is_read=is_read)

    @override
    def teardown(self) -> None:
        if hasattr(self, "users"):
            for user in self.users:
                self.compare_unread(user)

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def messages(self, chosen: Iterable[int]) -> list[MessageId]:
        """Some of the messages that there are, or none."""
        every = sorted(self.model.messages)
        return sorted({MessageId(every[n % len(every)]) for n in chosen}) if every else []

    # ------------------------------------------------------------ sending

    @rule(
        user=some_user,
        channel=some_channel,
        topic=some_topic,
        times=st.integers(1, 3),
        is_read=st.booleans(),
        has_wildcard=st.booleans(),
        mentioned=st.none() | some_user,
    )
    def send(self, user, channel, topic, times, is_read, has_wildcard, mentioned):
        names = [] if mentioned is None else [self.users[mentioned]]
        for _ in range(times):
            self._send(user, channel, topic, names, is_read=is_read, has_wildcard=has_wildcard)

    def _send(
        self,
        user: int,
        channel: int,
        topic: str,
        mentioned: Sequence[int] = (),
        *,
        is_read: bool,
        has_wildcard: bool = False,
        tells_of_resolving: bool = False,
    ) -> None:
        sender, place = self.users[user], self.channels[channel]
        bits = traits(
            read_by_sender=is_read,
            has_wildcard=has_wildcard,
            tells_of_resolving=tells_of_resolving,
        )
        message_id, topic_id = self.run(
            self.driver.send_to_channel(sender, place, topic, traits=bits, mentioned=mentioned)
        )
        self.model.topics[topic_id] = (place, topic)
        message = Message(message_id, sender, place, topic_id, has_wildcard, tells_of_resolving)
        self.model.send(message, read_by_sender=is_read, mentioned=mentioned)

    @rule(user=some_user, which=some_number, mentioned=st.none() | some_user)
    def tell_of_resolving(self, user, which, mentioned):
        channel, topic = self.model.topics[nth(self.model.topics, which)]
        names = [] if mentioned is None else [self.users[mentioned]]
        place = self.channels.index(channel)
        self._send(user, place, topic, names, is_read=False, tells_of_resolving=True)

    @rule(user=some_user, policy=st.sampled_from(("always", "except_followed", "never")))
    def choose_notices(self, user, policy):
        """From now on: what was unread stays so, and what was read."""
        self.run(self.driver.choose_notices(self.users[user], policy))
        self.model.of_notices[self.users[user]] = policy

    @rule(
        user=some_user,
        others=st.frozensets(some_user, max_size=2),
        is_read=st.booleans(),
        has_wildcard=st.booleans(),
    )
    def send_direct(self, user, others, is_read, has_wildcard):
        sender = self.users[user]
        people = frozenset({sender, *(self.users[o] for o in others)})
        message_id, group_id = self.run(
            self.driver.send_direct(
                sender,
                people,
                traits=traits(read_by_sender=is_read, has_wildcard=has_wildcard),
                mentioned=[],
            )
        )
        self.model.groups[group_id] = people
        message = Message(message_id, sender, None, group_id, has_wildcard)
        self.model.send(message, read_by_sender=is_read)

    # ------------------------------------------------------------ coming, going, moving

    @rule(user=some_user, channel=some_channel)
    def join_or_leave(self, user, channel):
        """Who leaves has read what the channel shows."""
        who, place = self.users[user], self.channels[channel]
        if (who, place) not in self.model.subscribed:
            self._join(who, place)
            return
        self.run(self.driver.unsubscribe(who, place))
        self.model.subscribed.remove((who, place))
        statement = read_marks.mark_left_read(
            self.driver.realm_id, [(UserId(who), ChannelId(place))], write_id=WRITE_ID
        )
        expected = self.model.mark_shown_read(who, lambda m: m.channel == place)
        self.compare_marked(statement, expected)

    def _join(self, who: int, place: int) -> None:
        self.run(self.driver.subscribe(who, place))
        self.model.subscribed.add((who, place))

    @rule(channel=some_channel, kind=some_kind, user=some_user, is_guest=st.none() | st.booleans())
    def change_rights(self, channel, kind, user, is_guest):
        if is_guest is None:
            self.run(self.driver.change_channel(self.channels[channel], kind))
            self.model.channels[self.channels[channel]] = replace(kind)
        else:
            self.run(self.driver.change_role(self.users[user], is_guest=is_guest))
            self.model.roles[self.users[user]] = 600 if is_guest else 400

    @rule(chosen=some_messages, channel=some_channel, topic=some_topic)
    def move(self, chosen, channel, topic):
        ids = [i for i in self.messages(chosen) if self.model.messages[i].channel is not None]
        self._move(ids, self.channels[channel], topic)

    @rule(which=some_number, channel=some_channel, topic=some_topic)
    def move_topic(self, which, channel, topic):
        """The whole of it: another name where that is free, else every message."""
        moved = nth(self.model.topics, which)
        old_channel, new_channel = self.model.topics[moved][0], self.channels[channel]
        if old_channel == new_channel and (new_channel, topic) not in self.model.topics.values():
            self.run(self.driver.rename(moved, topic))
            self.model.topics[moved] = (new_channel, topic)
        else:
            ids = [m.id for m in self.model.messages.values() if m.conversation == moved]
            self._move(ids, new_channel, topic)

    def _move(self, ids: Sequence[int], channel: int, topic: str) -> None:
        if ids:
            topic_id = self.run(self.driver.topic_for_move(channel, topic))
            self.model.topics[topic_id] = (channel, topic)
            self.run(self.driver.move(ids, channel, topic_id))
            self.model.move(ids, channel, topic_id)

    @rule(chosen=st.frozensets(some_number, min_size=1, max_size=2))
    def delete(self, chosen):
        ids = self.messages(chosen)
        if ids:
            self.run(self.driver.delete(ids))
            self.model.delete(ids)

    # ------------------------------------------------------------ reading

    @rule(chosen=st.lists(st.tuples(some_user, some_messages), min_size=1, max_size=3))
    def mark_reads(self, chosen):
        """One reader, or several who share a batch."""
        reads = {self.users[user]: self.messages(picked) for user, picked in chosen}
        changed = self.run(self.driver.mark_reads(reads))
        assert changed == {who: self.model.mark_read(who, ids) for who, ids in reads.items()}

    @rule(user=some_user, chosen=some_messages)
    def mark_unread(self, user, chosen):
        self._mark_unread(self.users[user], self.messages(chosen))

    def _mark_unread(self, who: int, ids: list[MessageId]) -> None:
        statement = read_marks.mark_unread(
            self.driver.realm_id, UserId(who), ids, empty_topic_name="general chat", **LOG
        )
        expected, left_out = self.model.mark_unread(who, ids)
        [row], events = self.run(self.driver.clocked(statement))
        assert (row[0], row[1]) == (expected, left_out)
        told = [(e["flag"], e["op"], e["messages"]) for e in events]
        assert told == ([("read", "remove", expected)] if expected else [])
        if expected:
            details = events[0]["message_details"]
            assert {int(i): "mentioned" in each for i, each in details.items()} == {
                i: self.model.is_mention(who, self.model.messages[i]) for i in expected
            }

    @rule(user=some_user, which=some_number, what=st.sampled_from(("topic", "channel", "all")))
    def mark_place_read(self, user, which, what):
        who = self.users[user]
        if what == "channel":
            self._mark_channel_read(who, self.channels[which % 3])
        elif what == "all":
            statement = read_marks.mark_all_read(self.driver.realm_id, UserId(who), **LOG)
            self.compare_marked(statement, self.model.mark_all_read(who), is_all=True)
        else:
            groups = [group for group, people in self.model.groups.items() if who in people]
            place = nth([*self.model.topics, *groups], which)
            statement = read_marks.mark_conversation_read(
                self.driver.realm_id, UserId(who), place, **LOG
            )
            expected = self.model.mark_shown_read(who, lambda m: m.conversation == place)
            self.compare_marked(statement, expected)

    @rule(user=some_user, other=some_user, is_muted=st.booleans())
    def mute(self, user, other, is_muted):
        who, muted = self.users[user], self.users[other]
        if who == muted:
            return
        realm_id, told = self.driver.realm_id, LOG
        if is_muted:
            statement = muted_users.mute(realm_id, UserId(who), UserId(muted), muted_at=NOW, **told)
        else:
            statement = muted_users.unmute(realm_id, UserId(who), UserId(muted), **told)
        had = (who, muted) in self.model.mutes
        read = self.model.mute(who, muted) if is_muted and not had else []
        if not is_muted:
            self.model.mutes.discard((who, muted))
        [(could,)], events = self.run(self.driver.clocked(statement))
        assert could == (had != is_muted)
        now = {m for u, m in self.model.mutes if u == who}
        assert [{m["id"] for m in e["muted_users"]} for e in events[:1]] == ([now] if could else [])
        assert [(e["flag"], e["op"], e["messages"]) for e in events[1:]] == (
            [("read", "add", read)] if read else []
        )

    @rule(user=some_user, which=some_number, policy=st.integers(0, 3), is_gained=st.booleans())
    def change_policy(self, user, which, policy, is_gained):
        """By hand, or by taking part: then it is only ever raised."""
        who, topic = self.users[user], nth(self.model.topics, which)
        channel, name = self.model.topics[topic]
        said: dict[str, Any] = {
            "policy": policy,
            "changed_at": NOW,
            "empty_topic_name": "general chat",
            "write_id": WRITE_ID,
        }
        realm_id, reader = self.driver.realm_id, UserId(who)
        before = self.model.policies.get((who, topic), 0)
        if is_gained and policy >= UNMUTED:
            statement = user_topics.raise_to(realm_id, reader, TopicId(topic), **said)
            is_changed = self.model.take_part(who, topic, policy)
        else:
            statement = user_topics.change(
                realm_id, reader, ChannelId(channel), name.upper(), **said
            )
            is_changed = before != policy
            self.model.policies[who, topic] = policy
        _, events = self.run(self.driver.clocked(statement))
        told = [(e["stream_id"], e["topic_name"], e["visibility_policy"]) for e in events[-1:]]
        assert told == ([(channel, name, policy)] if is_changed else [])
        assert len(events) == is_changed * (1 + (MUTED in (before, policy)))
        rows = self.run(user_topics.of_user(self.driver.connection, realm_id, reader))
        assert {row.topic_id: row.visibility_policy for row in rows} == {
            t: p for (u, t), p in self.model.policies.items() if u == who and p
        }

    @rule(user=some_user, channel=some_channel, is_muted=st.booleans())
    def mute_channel(self, user, channel, is_muted):
        who, place = self.users[user], self.channels[channel]
        if (who, place) not in self.model.subscribed:
            return
        self.run(self.driver.mute_channel(who, place, is_muted=is_muted))
        if is_muted:
            self.model.muted_channels.add((who, place))
        else:
            self.model.muted_channels.discard((who, place))

    @rule(
        user=some_user,
        place=st.sampled_from(PLACES),
        which=some_number,
        change=st.sampled_from((("read", "add"), ("read", "remove"), ("starred", "add"))),
        anchor=st.integers(0, 65),
        before=st.integers(0, 12),
        after=st.integers(0, 4),
    )
    def change_flag_in_narrow(self, user, place, which, change, anchor, before, after):
        """What the window of a narrow holds, and nothing beside it."""
        who, realm_id = self.users[user], self.driver.realm_id
        scope = scope_of(
            self.model, place, which, channel=self.channels[which % 3], sender=None, flags=()
        )
        every = [OLDEST, *sorted(self.model.messages), NEWEST]
        window = HistoryWindow(anchor=every[anchor % len(every)], before=before, after=after)
        page = self.run(
            history.page_of_ids(self.driver.connection, realm_id, UserId(who), scope, window)
        )
        expected = self.model.look(
            shown(self.model, who, scope),
            window.anchor,
            before,
            after,
            include_anchor=True,
            ends=(OLDEST, NEWEST),
        )
        assert (page.ids, page.found_oldest, page.found_newest) == (
            expected.ids,
            expected.found_oldest,
            expected.found_newest,
        )
        flag, operation = change
        if flag == "starred":
            self._change_flag(who, page.ids, flag, operation)
        elif operation == "add":
            changed = self.run(self.driver.mark_reads({who: page.ids}))
            assert changed == {who: self.model.mark_read(who, page.ids)}
        else:
            self._mark_unread(who, page.ids)

    def _mark_channel_read(self, who: int, place: int) -> None:
        statement = read_marks.mark_channel_read(
            self.driver.realm_id, UserId(who), ChannelId(place), **LOG
        )
        expected = self.model.mark_shown_read(who, lambda m: m.channel == place)
        self.compare_marked(statement, expected)

    @rule(
        user=some_user,
        chosen=some_messages,
        flag=st.sampled_from(("starred", "collapsed")),
        add=st.booleans(),
    )
    def change_flag(self, user, chosen, flag, add):
        self._change_flag(self.users[user], self.messages(chosen), flag, "add" if add else "remove")

    def _change_flag(
        self,
        who: int,
        ids: list[MessageId],
        flag: Literal["starred", "collapsed"],
        operation: Literal["add", "remove"],
    ) -> None:
        statement = message_flags.change(
            self.driver.realm_id, UserId(who), ids, flag=flag, operation=operation, **LOG
        )
        expected = self.model.change_flag(who, ids, flag, add=operation == "add")
        self.compare_change(statement, expected, flag, operation)

    @rule(user=some_user)
    def fold(self, user):
        """Shorter sets, without a visible difference: the model does nothing."""
        who, realm_id = UserId(self.users[user]), self.driver.realm_id
        every = [read_state.DIRECT, *map(ChannelId, self.channels)]
        folds = self.run(read_state.folds(self.driver.connection, realm_id, who, every))
        self.run(self.driver.clocked(read_state.fold(realm_id, who, folds)))

    def compare_change(
        self, statement: Statement, expected: list[int], flag: str, operation: str
    ) -> tuple[Any, ...]:
        """What changed is what the model says, and the log tells exactly that."""
        [row], events = self.run(self.driver.clocked(statement))
        assert row[0] == expected
        told = [(e["flag"], e["op"], e["messages"]) for e in events]
        assert told == ([(flag, operation, expected)] if expected else [])
        return tuple(row)

    def compare_marked(
        self, statement: Statement, expected: list[int], *, is_all: bool = False
    ) -> None:
        """The log tells of exactly what the model says has become read."""
        _, events = self.run(self.driver.clocked(statement))
        told = [(e["flag"], e["op"], e["messages"], e["all"]) for e in events]
        assert told == ([("read", "add", expected, is_all)] if expected else [])

    # ------------------------------------------------------------ looking

    @invariant()
    @precondition(lambda self: hasattr(self, "users"))
    def states_agree(self) -> None:
        states = self.run(
            message_flags.states(
                self.driver.connection,
                self.driver.realm_id,
                user_ids=map(UserId, self.users),
                message_ids=map(MessageId, self.model.messages),
            )
        )
        assert len(states) == len(self.users) * len(self.model.messages)
        for state in states:
            message = self.model.messages[state.message_id]
            assert state.received == self.model.received(state.user_id, message), state
            assert state.accessible == self.model.may_read(state.user_id, message), state
            assert state.unread == self.model.is_unread(state.user_id, message), state
            assert set(state.flags) == self.model.flags(state.user_id, message), state
        self.compare_engines()
        self.turn += 1
        self.compare_unread(self.users[self.turn % PEOPLE])

    def compare_engines(self) -> None:
        """Of many readers the database says what it says of each."""
        ids = list(self.model.messages)
        of_many = """
            SELECT * FROM reader_states(%(realm_id)s, %(users)s::bigint[], %(ids)s::bigint[])
        """
        of_each = """
            SELECT u.id, s.* FROM unnest(%(readers)s::bigint[]) AS u(id)
             CROSS JOIN LATERAL message_states(%(realm_id)s, u.id, %(messages)s::bigint[]) AS s
        """
        pairs = [(user, message_id) for user in self.users for message_id in ids]
        many, each = (
            self.run(
                self.driver.connection.tuples(
                    sql,
                    realm_id=self.driver.realm_id,
                    users=[user for user, _ in pairs],
                    ids=[message_id for _, message_id in pairs],
                    readers=self.users,
                    messages=ids + ids[:1],
                )
            )
            for sql in (of_many, of_each)
        )
        assert sorted(many, key=repr) == sorted(each, key=repr)
        self.compare_pages(ids)

    def compare_pages(self, ids: list[int]) -> None:
        """What a page shows is what its reader may read, standing to them as it does elsewhere."""
        of_pages, of_states = (
            self.run(
                self.driver.connection.tuples(
                    sql, realm_id=self.driver.realm_id, users=self.users, ids=ids + ids[:1]
                )
            )
            for sql in (
                """
                SELECT u.id, s.id, s.sender_id, s.channel_id, s.conversation_id, s.traits,
                       s.flag_bits, s.received, s.unread,
                       s.topic, s.user_ids
                  FROM unnest(%(users)s::bigint[]) AS u(id)
                 CROSS JOIN LATERAL message_rows(%(realm_id)s, u.id, %(ids)s::bigint[], true) AS s
                """,
                """
                SELECT u.id, s.id, s.sender_id, s.channel_id, s.conversation_id, s.traits,
                       s.flags, s.received, s.unread,
                       (SELECT t.name FROM topics t WHERE t.topic_id = s.conversation_id),
                       (SELECT g.user_ids FROM dm_groups g
                         WHERE g.dm_group_id = s.conversation_id)
                  FROM unnest(%(users)s::bigint[]) AS u(id)
                 CROSS JOIN LATERAL message_states(%(realm_id)s, u.id, %(ids)s::bigint[]) AS s
                 WHERE s.accessible
                """,
            )
        )
        assert [row[:2] for row in of_pages] == sorted(row[:2] for row in of_pages)
        assert of_pages == sorted(of_states, key=lambda row: row[:2])

    def compare_unread(self, user: int) -> None:
        unread = self.run(
            read_state.unread(self.driver.connection, self.driver.realm_id, UserId(user))
        )
        expected = self.model.unread(user)
        assert {c.conversation_id: c.message_ids for c in unread.conversations} == expected
        for each in unread.conversations:
            if each.channel_id is None:
                assert set(each.user_ids or ()) == self.model.groups[each.conversation_id]
            else:
                assert (each.channel_id, each.topic) == self.model.topics[each.conversation_id]
        messages = {i: self.model.messages[i] for ids in expected.values() for i in ids}
        by_name = {i for i, m in messages.items() if "mentioned" in self.model.flags(user, m)}
        assert unread.mentioned == by_name
        mentions = {i for i, m in messages.items() if self.model.is_mention(user, m)}
        assert unread.wildcards == mentions - by_name

    @rule(
        user=some_user,
        place=st.sampled_from(PLACES),
        which=some_number,
        sender=st.none() | some_user,
        flags=st.frozensets(st.sampled_from(("unread", "starred", "mentioned")), max_size=2),
        anchor=st.integers(0, 65),
        before=st.integers(0, 12),
        after=st.integers(0, 4),
        include_anchor=st.booleans(),
    )
    def look(self, user, place, which, sender, flags, anchor, before, after, include_anchor):
        who = self.users[user]
        scope = scope_of(
            self.model,
            place,
            which,
            channel=self.channels[which % 3],
            sender=None if sender is None else self.users[sender],
            flags=tuple(sorted(flags)),
        )
        expected_ids = shown(self.model, who, scope)
        every = [OLDEST, *sorted(self.model.messages), NEWEST]
        window = HistoryWindow(
            anchor=every[anchor % len(every)],
            before=before,
            after=after,
            include_anchor=include_anchor,
        )
        connection, realm_id = self.driver.connection, self.driver.realm_id
        page = self.run(
            history.page(connection, realm_id, UserId(who), scope, window, rendered=True)
        )
        assert Looked(
            [r.id for r in page.rows], page.found_anchor, page.found_oldest, page.found_newest
        ) == self.model.look(
            expected_ids, window.anchor, before, after, include_anchor, (OLDEST, NEWEST)
        )
        for row in page.rows:
            message = self.model.messages[row.id]
            assert set(row.flags) == self.model.flags(who, message)
            assert (row.channel_id, row.conversation_id) == (message.channel, message.conversation)
        first = self.run(history.first_unread(connection, realm_id, UserId(who), scope))
        unread = [i for i in expected_ids if self.model.is_unread(who, self.model.messages[i])]
        assert first == min(unread, default=None)


SECONDS = {"long": 3600.0}
NORMALLY = 45.0
"""For how long new batches of histories are begun."""

BATCH = settings(
    max_examples=12,
    stateful_step_count=40,
    deadline=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def machine(database_url: str) -> Iterator[type[ReadState]]:
    """The machine on one connection of its own; each history is rolled back."""
    with asyncio.Runner() as runner:
        raw = runner.run(PgConnection.connect(database_url, autocommit=True))
        connection = Connection(raw)
        yield type("ReadState", (ReadState,), {"runner": runner, "connection": connection})
        runner.run(raw.close())


def test_storage_agrees_with_a_row_for_each_recipient(machine: type[ReadState]):
    """An hour of it: pytest --hypothesis-profile=long."""
    end = time.monotonic() + SECONDS.get(settings.get_current_profile_name(), NORMALLY)
    while time.monotonic() < end:
        run_state_machine_as_test(machine, settings=BATCH)
