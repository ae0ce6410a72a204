"""People known to a guest at each position, whether that was read or followed entry by entry."""

from hypothesis import given
from hypothesis import strategies as st

from server.domain.addresses import RealmAddress
from server.realtime.audience import LiveUser, LiveUsers
from server.realtime.contacts import Contacts, ContactTables, LoadedContacts
from storage.ids import ChannelId, Position, UserId
from storage.subscription_spans import SpanRow

GUEST_ROLE = 600
GUEST, BOT = UserId(1), UserId(5)
PEOPLE = [UserId(number) for number in (2, 3, 4)]
CHANNELS = [ChannelId(number) for number in (11, 12)]
ADDRESS = RealmAddress("https://example.com")

changes = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([GUEST, *PEOPLE]), st.sampled_from(CHANNELS), st.booleans()),
        st.sampled_from(PEOPLE),  # the guest's contacts
    ),
    max_size=25,
)


class World:
    """What happened, position by position, kept as plainly as can be."""

    def __init__(self, happened):
        self.there: list[set[tuple[UserId, ChannelId]]] = [set()]
        """After each position: who is in which channel."""
        self.talked: dict[UserId, int] = {}
        for position, change in enumerate(happened, 1):
            now = set(self.there[-1])
            if isinstance(change, tuple):
                user_id, channel_id, joins = change
                (now.add if joins else now.discard)((user_id, channel_id))
            else:
                self.talked.setdefault(change, position)
            self.there.append(now)

    def knows(self, other, position):
        """What is sent at a position reaches those who were there just before it."""
        before = self.there[position - 1]
        together = any((GUEST, c) in before and (other, c) in before for c in CHANNELS)
        return together or self.talked.get(other, position + 1) <= position

    def spans(self, until):
        """As a snapshot at this position has them."""
        rows = []
        for user_id in (GUEST, *PEOPLE):
            for channel_id in CHANNELS:
                first = None
                for position in range(until + 1):
                    is_in = (user_id, channel_id) in self.there[position]
                    if is_in and first is None:
                        first = position + 1
                    if not is_in and first is not None:
                        rows.append(
                            SpanRow(user_id, channel_id, Position(first), Position(position))
                        )
                        first = None
                if first is not None:
                    rows.append(SpanRow(user_id, channel_id, Position(first), None))
        return rows


def loaded(world, until):
    rows = world.spans(until)
    return LoadedContacts(
        partners=[u for u, since in world.talked.items() if since <= until],
        channels={c: [row for row in rows if row.channel_id == c] for c in CHANNELS},
        bots=[BOT],
        address=ADDRESS,
    )


@given(happened=changes, data=st.data())
def test_what_is_followed_is_what_happened(happened, data):
    world = World(happened)
    read_at = data.draw(st.integers(0, len(happened)))
    tables = ContactTables()
    contacts = Contacts(tables, ADDRESS)
    own = [row for row in world.spans(read_at) if row.user_id == GUEST]
    guest = LiveUser(GUEST, GUEST_ROLE, own, contacts=contacts)
    found = loaded(world, read_at)
    tables.load(found)
    contacts.met(found.partners, Position(0))
    # Some of what was read may come again.
    again = data.draw(st.integers(0, read_at))
    for position, change in enumerate(happened[again:], again + 1):
        if isinstance(change, tuple):
            user_id, channel_id, joins = change
            tables.change(user_id, channel_id, Position(position), is_joining=joins)
            if user_id == GUEST:
                move = guest.joined if joins else guest.left
                move(channel_id, Position(position))
        else:
            contacts.met([change], Position(position))

    for position in range(1, len(happened) + 2):
        strangers = guest.strangers([GUEST, BOT, *PEOPLE], Position(position))
        expected = {u for u in PEOPLE if not world.knows(u, position)}
        talked_before_it_was_read = {u for u, since in world.talked.items() if since <= read_at}
        # Since when is known of conversations only from when the guest's queue is followed on.
        assert strangers == expected - talked_before_it_was_read


@given(happened=changes)
def test_nothing_is_kept_for_guests_who_have_gone(happened):
    world = World(happened)
    live = LiveUsers()
    rows = [row for row in world.spans(len(happened)) if row.user_id == GUEST]
    for number in (GUEST, UserId(6)):
        live.contacts.load(loaded(world, len(happened)))
        live.add(LiveUser(number, GUEST_ROLE, rows, contacts=Contacts(live.contacts, ADDRESS)))
    held = {row.channel_id for row in rows}
    live.remove(GUEST)
    assert live.contacts.holds(held)
    live.remove(UserId(6))
    assert not any(live.contacts.holds([channel_id]) for channel_id in held)
    assert live.restricted == {}


@given(happened=changes, data=st.data())
def test_what_is_kept_is_of_channels_of_guests_who_are_here(happened, data):
    """Whatever they join and leave while they are."""
    world = World(happened)
    read_at = data.draw(st.integers(0, len(happened)))
    live = LiveUsers()
    for number in (GUEST, UserId(6)):
        rows = [row for row in world.spans(read_at) if row.user_id == GUEST]
        live.contacts.load(loaded(world, read_at))
        live.add(LiveUser(number, GUEST_ROLE, rows, contacts=Contacts(live.contacts, ADDRESS)))
    for position, change in enumerate(happened[read_at:], read_at + 1):
        if isinstance(change, tuple):
            _, channel_id, joins = change
            live.change_membership(GUEST, channel_id, Position(position), joined=joins)
    touched = sorted({c for each in live.by_id.values() for c in each.channels})
    live.remove(GUEST)
    assert live.contacts.holds(live.by_id[UserId(6)].channels)
    live.remove(UserId(6))
    assert live.contacts.missing(touched) == touched


def test_users_who_may_know_all_pay_nothing():
    member = LiveUser(GUEST, GUEST_ROLE, [])
    live = LiveUsers()
    live.add(member)
    assert member.contacts is None
    assert live.restricted == {}
    assert member.strangers(PEOPLE, Position(9)) == frozenset()
