"""Personal settings change: who hears of it, and what follows."""

from typing import Any

import pytest
import pytest_asyncio

from server.actions.credential_changes import Proof
from server.actions.user_settings import (
    NewPassword,
    OwnChange,
    change_own_settings,
    change_settings_defaults,
)
from server.actions.users import NewUser, create_users
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.errors import BadRequestError, DomainError, InvalidParameterError
from server.domain.user_settings import (
    ADMINISTRATORS,
    DEFAULTS,
    EVERYONE,
    EXTENSIONS,
    MEMBERS,
    MODERATORS,
    NOBODY,
    ONES_OWN,
    UserSettings,
)
from storage import audit_log, credentials, users
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio

OTHER_VALUES = {
    "automatically_follow_topics_policy": 1,
    "automatically_unmute_topics_in_muted_streams_policy": 4,
    "color_scheme": 2,
    "default_language": "de",
    "demote_inactive_streams": 3,
    "desktop_icon_count_display": 4,
    "email_address_visibility": MODERATORS,
    "email_notifications_batching_period_seconds": 3600,
    "emojiset": "twitter",
    "notification_sound": "none",
    "realm_name_in_email_notifications_policy": 3,
    "resolved_topic_notice_auto_read_policy": "never",
    "user_list_style": 3,
    "web_animate_image_previews": "never",
    "web_channel_default_view": 2,
    "web_font_size_px": 20,
    "web_home_view": "recent_topics",
    "web_line_height_percent": 150,
    "web_mark_read_on_scroll_policy": 3,
    "web_stream_unreads_count_display_policy": 1,
}
EVERYTHING_ELSE: dict[str, Any] = {
    name: OTHER_VALUES.get(name, not getattr(DEFAULTS, name))
    for name in UserSettings.__struct_fields__
}
ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST)


class House:
    """A realm with a user of each role, and Cook, who changes settings."""

    def __init__(self, stage, make, people, cook):
        self.stage, self.make, self.people, self.cook = stage, make, people, cook

    async def change(self, row=None, **change):
        actor = await self.make.actor(row or self.cook)
        if not {"settings", "full_name", "timezone", "password"} & change.keys():
            change = {"settings": change}
        await self.stage.write(change_own_settings, actor, OwnChange(**change))

    async def change_defaults(self, role=ADMINISTRATOR, **changes):
        actor = await self.make.actor(self.people[role])
        await self.stage.write(change_settings_defaults, actor, changes)

    async def row(self, row=None):
        user_id = (row or self.cook).user_id
        [row] = await users.by_ids(self.make.connection, self.make.realm_id, [user_id])
        return row

    async def settings(self):
        return UserSettings.of((await self.row()).settings)

    async def audit(self, **filters):
        rows = await audit_log.newest(
            self.make.connection, self.make.realm_id, limit=100, **filters
        )
        return [(r.actor_id, r.action, r.subject_id, r.before, r.after) for r in rows]

    def everyone(self):
        return [*self.people.values(), self.cook]


@pytest_asyncio.fixture
async def house(stage, make):
    people = {role: await make.user(role=role) for role in ROLES}
    return House(stage, make, people, await make.user("Cook", email="cook@example.com"))


async def test_everything_changes_at_once_and_the_owner_alone_hears(house, witnesses):
    *others, own, old = await witnesses.watch(
        lambda: house.change(**EVERYTHING_ELSE), house.everyone()
    )

    assert await house.settings() == UserSettings(**EVERYTHING_ELSE)
    told = {e["property"] for e in own.events if e["type"] == "user_settings"}
    assert told == EVERYTHING_ELSE.keys()
    assert not {e["type"] for e in own.events} & {"update_display_settings"}
    kinds = {e["type"] for e in old.events}
    assert {"update_display_settings", "update_global_notifications"} <= kinds
    for each in others:
        # Whether their private data may be exported is for administrators to know.
        for_administrators = {"realm_export_consent"} if each.user.role <= ADMINISTRATOR else set()
        heard = {e["type"] for e in each.events}
        assert heard == {"realm_user", "user_status"} | for_administrators


async def test_a_language_is_told_with_its_name(house, witnesses):
    new, old = await witnesses.watch(lambda: house.change(default_language="de"), [house.cook])

    [event] = new.events
    assert (event["value"], event["language_name"]) == ("de", "Deutsch")
    [legacy] = [e for e in old.events if e["type"] == "update_display_settings"]
    assert (legacy["setting"], legacy["language_name"]) == ("de", "Deutsch")
    assert legacy["user"] == "cook@example.com"


async def test_clients_of_old_are_told_a_time_format_that_they_know(house, witnesses):
    """What a locale says is as good as nothing to them: register and the event tell them false."""
    await house.change(twenty_four_hour_time=True)

    new, old = await witnesses.watch(lambda: house.change(twenty_four_hour_time=None), [house.cook])

    [value] = [e["value"] for e in new.events if e["type"] == "user_settings"]
    [legacy] = [e for e in old.events if e["type"] == "update_display_settings"]
    assert (value, legacy["setting"]) == (None, False)


async def test_an_unchanged_setting_sends_no_event(house):
    await house.change(color_scheme=DEFAULTS.color_scheme)
    await house.change(full_name="Cook", timezone="")

    assert house.stage.happened == []
    assert await house.audit() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("default_language", "klingon"),
        ("notification_sound", "cowbell"),
        ("email_notifications_batching_period_seconds", 0),
        ("email_notifications_batching_period_seconds", 8 * 24 * 3600),
        ("web_font_size_px", 0),
        ("web_font_size_px", 10_000),
        ("web_line_height_percent", -1),
    ],
)
async def test_what_cannot_be_is_refused_and_all_with_it(house, name, value):
    with pytest.raises(InvalidParameterError) as refusal:
        await house.change(color_scheme=2, **{name: value})

    assert refusal.value.details == {"var_name": name}
    assert await house.settings() == DEFAULTS
    assert house.stage.happened == []


async def test_everyone_hears_of_a_new_name(house, witnesses):
    seen = await witnesses.watch(lambda: house.change(full_name="  Chef  "), house.everyone())

    assert (await house.row()).full_name == "Chef"
    for witness in seen:
        [event] = witness.events
        assert event["person"] == {"user_id": house.cook.user_id, "full_name": "Chef"}


async def test_guests_with_limited_visibility_hear_of_people_they_meet(house, make, witnesses):
    role_groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=role_groups["role:members"])
    stranger, acquaintance = house.people[GUEST], await make.user(role=GUEST)
    await make.channel(subscribers=[house.cook, acquaintance])

    async def change():
        await house.change(full_name="Chef")
        await house.change(email_address_visibility=ADMINISTRATORS)

    strange, _, met, _ = await witnesses.watch(change, [stranger, acquaintance])

    assert strange.events == []
    changed = [set(e["person"]) - {"user_id"} for e in met.events]
    assert {"full_name"} in changed
    assert {"delivery_email"} in changed
    assert {"new_email"} in changed


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb\x00", "**Cook**"])
async def test_an_invalid_name_is_refused(house, name):
    with pytest.raises(BadRequestError):
        await house.change(full_name=name)


async def test_where_names_do_not_change_administrators_still_may(house, make):
    await make.change_settings(name_changes_disabled=True)

    with pytest.raises(BadRequestError, match="disabled"):
        await house.change(full_name="Chef")
    await house.change(full_name="Cook")
    await house.change(house.people[ADMINISTRATOR], full_name="Boss")

    assert (await house.row(house.people[ADMINISTRATOR])).full_name == "Boss"


async def test_where_names_are_unique_a_name_is_taken_once(house, make):
    await make.user("Baker")
    await house.change(full_name="Baker")
    await house.change(full_name="Cook")
    await make.change_settings(require_unique_names=True)

    with pytest.raises(BadRequestError, match="Unique names"):
        await house.change(full_name="BAKER")
    await house.change(full_name="COOK")

    assert (await house.row()).full_name == "COOK"


async def test_a_time_zone_is_told_to_everyone(house, witnesses):
    seen = await witnesses.watch(
        lambda: house.change(timezone="Europe/Berlin"), [house.people[GUEST], house.cook]
    )

    for witness in seen:
        [person] = [e["person"] for e in witness.events if e["type"] == "realm_user"]
        assert person == {"user_id": house.cook.user_id, "timezone": "Europe/Berlin"}
    with pytest.raises(InvalidParameterError, match="timezone"):
        await house.change(timezone="Europe/Atlantis")


@pytest.mark.parametrize("before", [EVERYONE, MEMBERS, MODERATORS, ADMINISTRATORS, NOBODY])
@pytest.mark.parametrize("after", [EVERYONE, MEMBERS, MODERATORS, ADMINISTRATORS, NOBODY])
async def test_an_address_is_known_to_those_who_may_know_it_now(house, witnesses, before, after):
    await house.change(email_address_visibility=before)
    house.cook = await house.row()

    seen = await witnesses.watch(
        lambda: house.change(email_address_visibility=after),
        house.everyone(),
        views=(NEWEST_CLIENT,),
    )

    addresses = [e["person"] for w in seen for e in w.events if e["type"] == "realm_user"]
    assert ("new_email" in str(addresses)) == ((before == EVERYONE) != (after == EVERYONE))


async def test_another_address_is_another_picture_for_clients_that_cannot_work_it_out(
    house, witnesses
):
    new, old = await witnesses.watch(
        lambda: house.change(email_address_visibility=NOBODY), [house.people[MEMBER]]
    )

    [picture] = [e["person"] for e in old.events if "avatar_url" in e.get("person", {})]
    assert picture["avatar_url"].startswith("https://secure.gravatar.com/")
    [picture] = [e["person"] for e in new.events if "avatar_url" in e.get("person", {})]
    assert picture["avatar_url"] is None


async def test_a_bot_that_hides_its_address_hides_it_from_its_owner_too(house, make, witnesses):
    bot = await make.user("Oven", bot_type=1, bot_owner=house.cook)

    await witnesses.watch(
        lambda: house.change(bot, email_address_visibility=NOBODY), house.everyone()
    )


async def test_clients_that_know_no_open_settings_see_their_channels_change(house, make, witnesses):
    quiet, _ = [await make.channel(subscribers=[house.cook]) for _ in range(2)]
    await make.channel(subscribers=[house.cook], is_archived=True)
    await make.connection.execute(
        "UPDATE subscriptions SET push_notifications = false WHERE channel_id = %(id)s",
        id=quiet.channel_id,
    )

    new, old = await witnesses.watch(
        lambda: house.change(enable_stream_push_notifications=True), [house.cook]
    )

    assert [e for e in new.events if e["type"] == "subscription"] == []
    [told] = [e for e in old.events if e["type"] == "subscription"]
    assert (told["property"], told["value"]) == ("push_notifications", True)


async def test_drafts_go_where_they_are_no_longer_the_same_everywhere(house, make):
    other = house.people[MEMBER]
    for row in (house.cook, other):
        await make.connection.execute(
            """
            INSERT INTO drafts (realm_id, user_id, type, to_ids, topic, content, edited_at)
            VALUES (%(realm_id)s, %(user_id)s, '', '{}', '', 'dear', now())
            """,
            realm_id=make.realm_id,
            user_id=row.user_id,
        )

    await house.change(color_scheme=2)
    await house.change(enable_drafts_synchronization=False)

    left = await make.connection.values(
        "SELECT user_id FROM drafts WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    assert left == [other.user_id]


async def test_a_password_changes_for_whom_knows_the_old_one(house, make):
    async def keep(hashed):
        await make.connection.execute(
            "UPDATE users SET password_hash = %(hash)s WHERE user_id = %(user_id)s",
            hash=hashed,
            user_id=house.cook.user_id,
        )

    await keep("old")
    proof = Proof(None)
    await house.change(password=NewPassword("new", proof))
    with pytest.raises(BadRequestError, match="changed meanwhile"):
        await house.change(password=NewPassword("newest", proof), full_name="Chef")

    hashed = await credentials.password_hash(make.connection, make.realm_id, house.cook.user_id)
    assert hashed == "new"
    assert (await house.row()).full_name == "Cook"
    [row] = await house.audit()
    cook_id = house.cook.user_id
    assert row == (cook_id, "user_password_changed", cook_id, {}, {})


async def test_a_deactivated_user_changes_nothing(house, make):
    gone = await make.user(is_active=False)

    with pytest.raises(DomainError) as refusal:
        await house.change(gone, color_scheme=2)

    assert refusal.value.code == "USER_DEACTIVATED"


async def test_every_change_is_in_the_audit_log_with_what_was_before(house, make):
    await house.change(settings={"color_scheme": 3}, full_name="Chef")

    cook_id = house.cook.user_id
    assert await house.audit(actor_id=cook_id) == [
        (cook_id, "user_setting_changed", cook_id, {"full_name": "Cook"}, {"full_name": "Chef"}),
        (cook_id, "user_setting_changed", cook_id, {"color_scheme": 1}, {"color_scheme": 3}),
    ]


async def test_newcomers_start_with_the_organizations_settings(house, make, witnesses):
    changes = {name: v for name, v in EVERYTHING_ELSE.items() if name not in ONES_OWN}

    seen = await witnesses.watch(lambda: house.change_defaults(**changes), house.everyone())

    for witness in seen:
        unknown = frozenset() if witness.view.reaction_notifications else EXTENSIONS
        assert {e["property"] for e in witness.events} == changes.keys() - unknown
    assert await house.settings() == DEFAULTS
    writer = house.stage.writers.of(make.realm_id)
    new = NewUser(email="new@example.com", full_name="New")
    now = house.stage.clock.now()
    [created] = await writer.write(lambda tx: create_users(tx, [new], now=now))
    [row] = await users.by_ids(make.connection, make.realm_id, [created.user_id])
    started = UserSettings.of(row.settings)
    assert {name: getattr(started, name) for name in changes} == changes


async def test_a_default_may_be_taken_back(house, make, witnesses):
    await house.change_defaults(color_scheme=2)
    await witnesses.watch(
        lambda: house.change_defaults(color_scheme=1, enter_sends=False), [house.cook]
    )

    assert [row[3:] for row in await house.audit(action="settings_default_changed")] == [
        ({"color_scheme": 2}, {"color_scheme": 1}),
        ({"color_scheme": 1}, {"color_scheme": 2}),
    ]


async def test_no_draft_is_lost_by_what_newcomers_start_with(house, make):
    await make.connection.execute(
        """
        INSERT INTO drafts (realm_id, user_id, type, to_ids, topic, content, edited_at)
        VALUES (%(realm_id)s, %(user_id)s, '', '{}', '', 'dear', now())
        """,
        realm_id=make.realm_id,
        user_id=house.cook.user_id,
    )

    await house.change_defaults(enable_drafts_synchronization=False)

    assert await make.connection.value(
        "SELECT count(*) FROM drafts WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_only_administrators_say_how_newcomers_start(house, role):
    with pytest.raises(BadRequestError, match="administrator"):
        await house.change_defaults(role, color_scheme=2)

    assert house.stage.happened == []
