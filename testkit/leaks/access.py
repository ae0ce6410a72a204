"""The events about a channel's messages and topics for users who gain or lose access to it."""

from collections.abc import Mapping
from dataclasses import dataclass

from testkit.leaks.expected_events import NO_USERS, ExpectedEvent
from testkit.leaks.model import Model
from testkit.leaks.policies import policies_known, policies_lost, policies_restored


@dataclass(frozen=True, slots=True)
class ReadAccess:
    """The messages in a channel that some users may read at one time."""

    channel: int
    people: frozenset[int]
    readers: frozenset[int]
    """Users with content access."""
    messages: Mapping[int, frozenset[int]]
    """The readers of each message in the channel."""
    policies: frozenset[tuple[int, str]]
    """Users, and topics known to them for which they may have set a policy."""

    @classmethod
    def of(cls, model: Model, channel: int, people: frozenset[int]) -> "ReadAccess":
        users = [model.users[number] for number in people if model.users[number].is_active]
        place = model.channels[channel]
        return cls(
            channel,
            people,
            frozenset(user.number for user in users if model.reads(user, place)),
            {
                number: frozenset(user.number for user in users if model.may_read(user, message))
                for number, message in model.messages.items()
                if message.channel == channel
            },
            policies_known(model, channel, people),
        )

    def changed(self, model: Model) -> list[ExpectedEvent]:
        """Events for those who may read more or less by now.

        Stars and policies that are certain must be restored or withdrawn. Whether a message is
        unread again is left to the server.
        """
        now = ReadAccess.of(model, self.channel, self.people)
        expected = policies_lost(model, self.channel, self.policies)
        expected += policies_restored(model, self.channel, now.readers, now.readers - self.readers)
        for number, readers in now.messages.items():
            starred = model.messages[number].starred
            before = self.messages[number]
            expected += [
                _flagged("remove", "read", number, may=readers),
                _flagged("add", "starred", number, (readers - before) & starred, readers),
                _flagged(
                    "remove",
                    "starred",
                    number,
                    (before - readers) & starred,
                    (self.people & starred) - readers,
                ),
            ]
        return expected


def _flagged(
    op: str,
    flag: str,
    message: int,
    must: frozenset[int] = NO_USERS,
    may: frozenset[int] = NO_USERS,
) -> ExpectedEvent:
    key = ("update_message_flags", op, flag, message)
    return ExpectedEvent(kind="update_message_flags", key=key, must=must, may=may)
