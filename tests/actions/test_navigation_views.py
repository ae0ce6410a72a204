"""Navigation views: one's own, and told to oneself alone."""

import pytest

from server.actions.navigation_views import MAX_VIEWS, add_view, change_view, remove_view
from server.domain.access import GUEST
from server.domain.errors import BadRequestError, DomainError, InvalidParameterError, NotFoundError
from storage import audit_log, navigation_views
from storage.navigation_views import NavigationViewRow

pytestmark = pytest.mark.asyncio

STARRED = NavigationViewRow("narrow/is/starred", is_pinned=True, name=None)
OWN = NavigationViewRow("narrow/channel/7-cooks", is_pinned=False, name=" Cooks ")


async def test_only_oneself_hears_of_them(stage, make, witnesses):
    cook, other = await make.user(role=GUEST), await make.user()
    actor = await make.actor(cook)

    async def change():
        await stage.write(add_view, actor, STARRED)
        await stage.write(add_view, actor, OWN)
        await stage.write(change_view, actor, OWN.fragment, is_pinned=True, name="Bakers")
        await stage.write(change_view, actor, OWN.fragment, is_pinned=None, name="")
        await stage.write(remove_view, actor, STARRED.fragment)

    mine, _, theirs, _ = await witnesses.watch(change, [cook, other])

    assert [e["op"] for e in mine.events] == ["add", "add", "update", "update", "remove"]
    assert mine.events[0]["navigation_view"].keys() == {"fragment", "is_pinned"}
    assert mine.events[1]["navigation_view"]["name"] == "Cooks"
    assert mine.events[2]["data"] == {"is_pinned": True, "name": "Bakers"}
    assert mine.events[3]["data"] == {"name": None}
    assert theirs.events == []
    rows = await audit_log.newest(make.connection, make.realm_id, limit=10)
    assert len(rows) == 5
    assert {row.actor_id for row in rows} == {cook.user_id}


async def test_a_change_without_effect_sends_no_event(stage, make):
    actor = await make.actor()
    await stage.write(add_view, actor, OWN)

    await stage.run(change_view, actor, OWN.fragment, is_pinned=False, name="Cooks")
    assert stage.happened == []
    await stage.run(change_view, actor, OWN.fragment, is_pinned=None, name=None)
    assert stage.happened == []


@pytest.mark.parametrize(
    ("view", "refusal"),
    [
        (NavigationViewRow("", is_pinned=True, name=None), BadRequestError),
        (NavigationViewRow("  ", is_pinned=True, name=None), BadRequestError),
        (NavigationViewRow("x" * 1001, is_pinned=True, name=None), BadRequestError),
        (NavigationViewRow("x", is_pinned=True, name="x" * 101), InvalidParameterError),
    ],
)
async def test_what_cannot_be_is_refused(stage, make, view, refusal):
    with pytest.raises(refusal):
        await stage.write(add_view, await make.actor(), view)
    assert stage.happened == []


async def test_a_fragment_is_there_once_for_each(stage, make):
    actor, other = await make.actor(), await make.actor()
    await stage.write(add_view, actor, OWN)
    await stage.write(add_view, other, OWN)

    with pytest.raises(BadRequestError, match="already"):
        await stage.write(add_view, actor, OWN)
    for row in (actor, other):
        rows = await navigation_views.of_user(make.connection, make.realm_id, row.user_id)
        assert [each.fragment for each in rows] == [OWN.fragment]


async def test_users_change_only_their_own(stage, make):
    actor, other = await make.actor(), await make.actor()
    await stage.write(add_view, other, OWN)

    with pytest.raises(NotFoundError):
        await stage.write(change_view, actor, OWN.fragment, is_pinned=True, name=None)
    with pytest.raises(NotFoundError):
        await stage.write(remove_view, actor, OWN.fragment)


async def test_there_are_not_endlessly_many(stage, make):
    actor = await make.actor()
    for n in range(MAX_VIEWS):
        row = NavigationViewRow(f"v{n}", is_pinned=False, name=None)
        await navigation_views.put(make.connection, make.realm_id, actor.user_id, row)

    with pytest.raises(BadRequestError, match="Too many"):
        await stage.write(add_view, actor, OWN)


async def test_a_deactivated_user_changes_nothing(stage, make):
    with pytest.raises(DomainError) as refusal:
        await stage.write(add_view, await make.actor(is_active=False), OWN)
    assert refusal.value.code == "USER_DEACTIVATED"
