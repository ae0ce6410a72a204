"""Linkifiers and playgrounds: who may change them, who hears of it."""

import pytest
import pytest_asyncio

from server.actions.linkifiers import (
    add_linkifier,
    add_playground,
    change_linkifier,
    order_linkifiers,
    remove_linkifier,
    remove_playground,
)
from server.domain import url_templates
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR
from server.domain.errors import BadRequestError, DomainError, InvalidParameterError
from storage import audit_log, linkifiers
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

PATTERN, TEMPLATE = r"#(?P<id>\d+)", "https://issues.example.com/{id}"
PLAYGROUND = ("Try", "Python", "https://try.example.com/?code={code}")


class Office:
    def __init__(self, stage, make, admin, people):
        self.stage, self.make, self.admin, self.people = stage, make, admin, people

    async def do(self, action, *args, row=None):
        actor = await self.make.actor(row or self.admin)
        return await self.stage.write(action, actor, *args)

    async def kept(self):
        rows = await linkifiers.of_realm(self.make.connection, self.make.realm_id)
        return [row.linkifier_id for row in rows]

    async def actions(self):
        rows = await audit_log.newest(self.make.connection, self.make.realm_id, limit=20)
        return [row.action for row in reversed(rows)]


@pytest_asyncio.fixture
async def office(stage, make):
    admin = await make.user(role=ADMINISTRATOR)
    people = [admin, await make.user(), await make.user(role=GUEST)]
    return Office(stage, make, admin, people)


async def test_every_change_is_told_to_everyone_and_kept_in_the_audit_log(office, witnesses):
    async def change():
        first = await office.do(add_linkifier, PATTERN, TEMPLATE)
        second = await office.do(add_linkifier, "T(?P<id>[0-9]+)", TEMPLATE)
        await office.do(order_linkifiers, [second, first])
        await office.do(change_linkifier, first, "B(?P<n>[0-9]+)", "https://bugs.example.com/{n}")
        await office.do(remove_linkifier, second)

    newest, old, *_ = await witnesses.watch(change, office.people)

    assert len(newest.events) == 5
    assert old.events == []
    assert await office.actions() == [
        "linkifier_added",
        "linkifier_added",
        "linkifiers_ordered",
        "linkifier_changed",
        "linkifier_removed",
    ]


async def test_playgrounds_come_and_go(office, witnesses):
    async def change():
        first = await office.do(add_playground, *PLAYGROUND)
        await office.do(add_playground, "Another", *PLAYGROUND[1:])
        await office.do(remove_playground, first)

    seen = await witnesses.watch(change, office.people)

    assert {len(witness.events) for witness in seen} == {3}
    assert await office.actions() == ["playground_added", "playground_added", "playground_removed"]
    with pytest.raises(BadRequestError, match="already"):
        await office.do(add_playground, "Another", *PLAYGROUND[1:])


async def test_a_change_without_effect_sends_no_event(office):
    kept = await office.do(add_linkifier, PATTERN, TEMPLATE)
    office.stage.happened.clear()

    await office.do(change_linkifier, kept, f" {PATTERN} ", TEMPLATE)
    await office.do(order_linkifiers, [kept])

    assert office.stage.happened == []


async def test_a_pattern_is_there_once(office):
    kept = await office.do(add_linkifier, PATTERN, TEMPLATE)
    other = await office.do(add_linkifier, "T(?P<id>[0-9]+)", TEMPLATE)

    for write in (
        lambda: office.do(add_linkifier, PATTERN, TEMPLATE),
        lambda: office.do(change_linkifier, other, PATTERN, TEMPLATE),
    ):
        with pytest.raises(InvalidParameterError, match="already"):
            await write()
    assert await office.kept() == [kept, other]


async def test_an_order_names_each_once(office):
    ids = [await office.do(add_linkifier, f"{c}(?P<id>1)", TEMPLATE) for c in "abc"]

    for wrong in ([], ids[:2], [*ids, ids[0]], [*ids[:2], 2**62]):
        with pytest.raises(InvalidParameterError):
            await office.do(order_linkifiers, wrong)
    await office.do(order_linkifiers, ids[::-1])
    new = await office.do(add_linkifier, "d(?P<id>1)", TEMPLATE)

    assert await office.kept() == [*ids[::-1], new]


async def test_there_are_not_endlessly_many(office):
    limit = url_templates.MAX_LINKIFIERS
    connection, realm_id = office.make.connection, office.make.realm_id
    for n in range(limit):
        await linkifiers.insert(connection, realm_id, pattern=f"p{n}", url_template=TEMPLATE)

    with pytest.raises(BadRequestError, match="Too many"):
        await office.do(add_linkifier, PATTERN, TEMPLATE)


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_they_are_for_administrators(office, make, role):
    person = await make.user(role=role)
    kept = await office.do(add_linkifier, PATTERN, TEMPLATE)
    ground = await office.do(add_playground, *PLAYGROUND)
    office.stage.happened.clear()

    for action, *args in (
        (add_linkifier, "x(?P<id>1)", TEMPLATE),
        (change_linkifier, kept, "x(?P<id>1)", TEMPLATE),
        (remove_linkifier, kept),
        (order_linkifiers, [kept]),
        (add_playground, "X", *PLAYGROUND[1:]),
        (remove_playground, ground),
    ):
        with pytest.raises(BadRequestError, match="administrator"):
            await office.do(action, *args, row=person)
    assert office.stage.happened == []


async def test_another_realms_are_not_there(office, make):
    other = await new_realm(make.connection)
    theirs = await linkifiers.insert(
        make.connection, other.realm_id, pattern=PATTERN, url_template=TEMPLATE
    )

    with pytest.raises(BadRequestError, match="not found"):
        await office.do(change_linkifier, theirs, PATTERN, TEMPLATE)
    with pytest.raises(BadRequestError, match="not found"):
        await office.do(remove_linkifier, theirs)
    with pytest.raises(BadRequestError, match="Invalid playground"):
        await office.do(remove_playground, 1)
    assert len(await linkifiers.of_realm(make.connection, other.realm_id)) == 1


async def test_a_deactivated_user_changes_nothing(office, make):
    gone = await make.user(role=ADMINISTRATOR, is_active=False)
    with pytest.raises(DomainError) as refusal:
        await office.do(add_linkifier, PATTERN, TEMPLATE, row=gone)
    assert refusal.value.code == "USER_DEACTIVATED"
