"""Who has queues in a process, and in which channels they are."""

from server.domain.access import MEMBER
from server.realtime.audience import LiveUser, LiveUsers
from storage.ids import ChannelId, Position, UserId


def test_leaving_an_unknown_channel_does_no_harm():
    live = LiveUsers()
    live.add(LiveUser(UserId(7), MEMBER, []))

    live.change_membership(UserId(7), ChannelId(9), Position(3), joined=False)
    live.remove(UserId(7))

    assert live.by_id == {}
