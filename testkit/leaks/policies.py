"""Visibility policies of topics: which users get events about them."""

from collections.abc import Iterable

from testkit.leaks.expected_events import NO_USERS, ExpectedEvent
from testkit.leaks.model import Model

NONE, MUTED, UNMUTED, FOLLOWED = 0, 1, 2, 3
Place = tuple[int, str]
"""A channel, and a topic of it."""


def policies_may_follow(model: Model, users: Iterable[int], place: Place) -> list[ExpectedEvent]:
    """Participants of a topic, or users named in it, may follow it from then on."""
    concerned = frozenset(users)
    for user in concerned:
        model.policies[user, *place] = None
        model.learned.add((user, *place))
    return [_policy_event(place, concerned)]


def policies_move(model: Model, old: Place, new: Place) -> list[ExpectedEvent]:
    """Policies of a topic may go with its messages, for users who may know of both.

    To be asked before they move, and after it.
    """
    expected = []
    for place in (old, new):
        knowing = frozenset(u.number for u in model.active() if model.knows_topic(u, *place))
        expected.append(_policy_event(place, knowing))
        for user in knowing:
            model.policies[user, *place] = None
            model.learned.add((user, *place))
    for user in model.users:
        # Also of those who may not know of it now, and perhaps will again.
        if any((user, *place) in model.policies for place in (old, new)):
            model.policies |= {(user, *place): None for place in (old, new)}
    return expected


def policies_restored(
    model: Model, channel: int, readers: frozenset[int], newcomers: frozenset[int]
) -> list[ExpectedEvent]:
    """Policies that readers of the channel may regain, of topics that they may know of.

    Newcomers, who could not read it before, must get it if it is certain.
    """
    expected = []
    for (user, there, topic), policy in model.policies.items():
        own = frozenset({user})
        if there == channel and model.knows_topic(model.users[user], channel, topic):
            must = own & newcomers if policy else NO_USERS
            expected.append(_policy_event((channel, topic), own & readers, must))
    return expected


def policies_known(model: Model, channel: int, users: frozenset[int]) -> frozenset[tuple[int, str]]:
    """For which topics, that they may know of, these users may have set something there."""
    return frozenset(
        (user, topic)
        for user, there, topic in model.policies
        if there == channel
        and user in users
        and model.knows_topic(model.users[user], channel, topic)
    )


def policies_lost(
    model: Model, channel: int, known: frozenset[tuple[int, str]]
) -> list[ExpectedEvent]:
    """Events that unset known policies of users who see the channel and may no longer read it."""
    place, expected = model.channels[channel], []
    for user, topic in sorted(known):
        own = frozenset({user})
        if model.sees(model.users[user], place) and not model.reads(model.users[user], place):
            is_certain = bool(model.policies[user, channel, topic])
            expected.append(_policy_event((channel, topic), own, own if is_certain else NO_USERS))
    return expected


def policies_gone(model: Model, channel: int) -> list[ExpectedEvent]:
    """Users who see the channel and may not read it may get their lost policies once more."""
    place = model.channels[channel]
    return [
        _policy_event((channel, topic), frozenset({user}))
        for user, there, topic in sorted(model.policies)
        if there == channel
        and model.sees(model.users[user], place)
        and not model.reads(model.users[user], place)
    ]


def policy_set(model: Model, user: int, place: Place, policy: int) -> list[ExpectedEvent]:
    """The user sets the visibility policy of a topic, which need not exist."""
    before = model.policies.get((user, *place), NONE)
    model.policies[user, *place] = policy
    model.learned.add((user, *place))
    own = frozenset({user})
    if before is not None and before != policy:
        return [_policy_event(place, own, must=own)]
    return [_policy_event(place, own)]


def _policy_event(
    place: Place, may: frozenset[int], must: frozenset[int] = NO_USERS
) -> ExpectedEvent:
    return ExpectedEvent(kind="user_topic", key=("user_topic", *place), must=must, may=may)
