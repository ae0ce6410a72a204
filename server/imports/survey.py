"""Read a file once before anything is written: what it contains, and whether it is damaged."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from server.imports.records import (
    Channel,
    DirectConversation,
    GroupRecord,
    LinkifierRecord,
    PersonRecord,
    PlaygroundRecord,
    ProfileFieldRecord,
    Reader,
)

PROGRESS_STEP = 10_000

Progress = Callable[[str, int, int], None]
"""Progress callback: what is read or written, how many are done, and of how many (0: unknown)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a file contains, apart from the messages themselves."""

    people: Sequence[PersonRecord]
    strangers: Mapping[str, str]
    """Senders and members that the file does not list, by key, with their names in messages."""
    channels: Sequence[Channel]
    conversations: Sequence[DirectConversation]
    emoji: int
    messages: int
    fields: Sequence[ProfileFieldRecord] = ()
    groups: Sequence[GroupRecord] = ()
    linkifiers: Sequence[LinkifierRecord] = ()
    playgrounds: Sequence[PlaygroundRecord] = ()
    firsts: Mapping[datetime, int] = field(default_factory=dict)
    """Number of the first message from a moment on, for the moments at which people joined."""


def survey(reader: Reader, progress: Progress) -> Survey:
    """Read the whole file. Raises FileRefusedError."""
    people = list(reader.people())
    known = {person.key for person in people}
    emoji = sum(1 for _ in reader.emoji())
    places = list(reader.places())
    groups = list(reader.groups())
    members = chain.from_iterable(each.members for each in (*places, *groups))
    strangers = {key: "" for key in members if key not in known}
    channels = [place for place in places if isinstance(place, Channel)]
    moments = deque(sorted({each for place in channels for each in (place.since or {}).values()}))
    firsts: dict[datetime, int] = {}
    count = 0
    for message in reader.messages():
        count += 1
        while moments and moments[0] <= message.sent_at:
            firsts[moments.popleft()] = count
        if message.sender not in known and not strangers.get(message.sender):
            strangers[message.sender] = message.sender_name
        if count % PROGRESS_STEP == 0:
            progress("messages read", count, 0)
    return Survey(
        people=people,
        strangers=strangers,
        channels=channels,
        conversations=[place for place in places if isinstance(place, DirectConversation)],
        emoji=emoji,
        messages=count,
        fields=list(reader.profile_fields()),
        groups=groups,
        linkifiers=list(reader.linkifiers()),
        playgrounds=list(reader.playgrounds()),
        firsts=firsts,
    )
