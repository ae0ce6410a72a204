"""The organization's settings change: who may, who hears of it, and what follows."""

import pytest
import pytest_asyncio

from server.actions.realm_settings import RealmChange, change_realm
from server.actions.users import NewUser, create_users
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER, GroupSetting
from server.domain.errors import (
    BadRequestError,
    DomainError,
    ExpectationMismatchError,
    InvalidParameterError,
    SystemGroupRequiredError,
)
from server.domain.group_settings import PermissionChange
from server.domain.permission_settings import REALM_PERMISSIONS
from server.domain.realm_changes import FOR_OWNERS
from server.domain.realm_settings import DEFAULTS, RealmSettings
from server.domain.user_settings import UserSettings
from storage import audit_log, event_queues, realms, second_factors, users
from storage.ids import GroupId, QueueId, UserId
from testkit.clock import StoppedClock

pytestmark = pytest.mark.asyncio

ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST)
OTHER_VALUES = {
    "authentication_methods": (),
    "default_avatar_source": "J",
    "default_code_block_language": "python",
    "default_language": "de",
    "digest_weekday": 5,
    "giphy_rating": 0,
    "media_preview_size": 150,
    "jitsi_server_url": "https://calls.example.com",
    "message_content_delete_limit_seconds": None,
    "message_content_edit_limit_seconds": 3600,
    "message_edit_history_visibility_policy": "none",
    "message_retention_days": 30,
    "move_messages_between_streams_limit_seconds": None,
    "move_messages_within_stream_limit_seconds": 1,
    "org_type": 1000,
    "topics_policy": "disable_empty_topic",
    "video_chat_provider": 0,
    "welcome_message_custom_text": "Hello!",
}
SWITCHES = (
    "allow_message_editing",
    "avatar_changes_disabled",
    "digest_emails_enabled",
    "disallow_disposable_email_addresses",
    "email_changes_disabled",
    "emails_restricted_to_domains",
    "enable_guest_user_dm_warning",
    "enable_guest_user_indicator",
    "enable_read_receipts",
    "enable_spectator_access",
    "inline_image_preview",
    "inline_url_embed_preview",
    "invite_required",
    "message_content_allowed_in_email_notifications",
    "name_changes_disabled",
    "presence_disabled",
    "require_e2ee_push_notifications",
    "require_unique_names",
    "send_channel_events_messages",
    "send_welcome_emails",
    "want_advertise_in_communities_directory",
)
EVERYTHING = OTHER_VALUES | {name: not getattr(DEFAULTS, name) for name in SWITCHES}


class Town:
    """A realm with a user of each role, of which things change."""

    def __init__(self, stage, make, people, role_groups):
        self.stage, self.make, self.people, self.groups = stage, make, people, role_groups

    async def change(self, role=OWNER, **change):
        if not {"settings", "permissions", "name", "description", "subdomain"} & change.keys():
            change = {"settings": change}
        actor = await self.make.actor(self.people[role])
        wanted = RealmChange(**change)
        await self.stage.write(change_realm, actor, wanted, available=("Email",))

    async def permit(self, role=OWNER, **permissions):
        changes = {
            name: value if isinstance(value, PermissionChange) else PermissionChange(value)
            for name, value in permissions.items()
        }
        await self.change(role, permissions=changes)

    def group(self, name):
        return GroupSetting(group_id=self.groups[name])

    async def settings(self):
        return RealmSettings.of((await self.row()).settings)

    async def row(self):
        row = await realms.by_id(self.make.connection, self.make.realm_id)
        assert row is not None
        return row

    async def audit(self):
        rows = await audit_log.newest(self.make.connection, self.make.realm_id, limit=100)
        return [(r.actor_id, r.action, r.before, r.after) for r in rows]

    def everyone(self):
        return list(self.people.values())

    async def queue(self, row):
        queue_id = QueueId(f"queue of {row.user_id}")
        await event_queues.insert(
            self.make.connection,
            self.make.realm_id,
            [event_queues.NewQueue(queue_id, row.user_id, {}, 600)],
        )
        return queue_id

    async def is_live(self, queue_id):
        realm_id = self.make.realm_id
        return await event_queues.live(self.make.connection, realm_id, [queue_id]) != []


@pytest_asyncio.fixture
async def town(stage, make):
    people = {role: await make.user(role=role) for role in ROLES}
    return Town(stage, make, people, await make.role_groups())


async def test_every_setting_changes_and_everyone_hears(town, witnesses):
    seen = await witnesses.watch(lambda: town.change(**EVERYTHING), town.everyone())

    settings = await town.settings()
    assert {name: getattr(settings, name) for name in EVERYTHING} == EVERYTHING
    for witness in seen:
        assert {e["type"] for e in witness.events} == {"realm"}


async def test_every_permission_changes_and_everyone_hears(town, witnesses):
    wanted = {
        name: town.group("role:moderators")
        for name, rule in REALM_PERMISSIONS.items()
        if not rule.only or "role:moderators" in rule.only
    }

    await witnesses.watch(lambda: town.permit(**wanted), town.everyone())

    settings = await town.settings()
    given = {town.groups.get(getattr(settings, n), getattr(settings, n)) for n in wanted}
    assert given == {town.groups["role:moderators"]}


async def test_a_name_and_a_description(town, witnesses):
    await witnesses.watch(
        lambda: town.change(
            name=" The  Town ", description="So **old**", rendered_description="<p>So</p>"
        ),
        [town.people[GUEST]],
    )

    row = await town.row()
    assert (row.name, row.description) == ("The Town", "So **old**")
    assert row.rendered_description == "<p>So</p>"


async def test_an_unchanged_setting_sends_no_event(town):
    await town.change(allow_message_editing=True)
    await town.permit(can_create_groups=town.group("role:members"))
    await town.change(name="A realm")

    assert town.stage.happened == []
    assert await town.audit() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("message_content_edit_limit_seconds", 0),
        ("message_content_delete_limit_seconds", -5),
        ("move_messages_within_stream_limit_seconds", 2**40),
        ("message_retention_days", 0),
        ("message_retention_days", -2),
        ("default_language", "klingon"),
        ("default_code_block_language", "gibberish"),
        ("jitsi_server_url", "javascript:alert(1)"),
        ("jitsi_server_url", "https://" + "x" * 200),
        ("jitsi_server_url", "http://[oops"),
        ("video_chat_provider", 2),
        ("waiting_period_threshold", -1),
        ("waiting_period_threshold", 10**9),
        ("welcome_message_custom_text", "x" * 8001),
        ("new_stream_announcements_stream_id", 0),
        ("new_stream_announcements_stream_id", -2),
        ("signup_announcements_stream_id", 2**62),
    ],
)
async def test_what_cannot_be_is_refused_and_all_with_it(town, name, value):
    with pytest.raises(InvalidParameterError) as refusal:
        await town.change(presence_disabled=True, **{name: value})

    assert refusal.value.details == {"var_name": name}
    assert await town.settings() == DEFAULTS
    assert town.stage.happened == []


@pytest.mark.parametrize("change", [{"name": " "}, {"name": "x" * 41}, {"description": "x" * 1001}])
async def test_names_and_descriptions_have_an_end(town, change):
    with pytest.raises(BadRequestError):
        await town.change(**change)


async def test_the_address_of_the_organization_cannot_change(town):
    await town.change(subdomain=(await town.row()).subdomain)
    with pytest.raises(BadRequestError, match="demo"):
        await town.change(subdomain="elsewhere")
    assert town.stage.happened == []


async def test_announcements_go_to_channels_that_are_there(town, make, witnesses):
    public, closed = await make.channel(), await make.channel(is_archived=True)
    private = await make.channel(invite_only=True)
    ids = {
        "new_stream_announcements_stream_id": public.channel_id,
        "signup_announcements_stream_id": private.channel_id,
        "moderation_request_channel_id": private.channel_id,
    }

    await witnesses.watch(lambda: town.change(**ids), [town.people[MEMBER]])

    for name, channel in [
        ("new_stream_announcements_stream_id", closed),
        ("moderation_request_channel_id", public),
    ]:
        with pytest.raises(InvalidParameterError):
            await town.change(**{name: channel.channel_id})
    await town.change(**dict.fromkeys(ids, -1))
    assert await town.settings() == DEFAULTS


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_only_administrators_change_the_organization(town, role):
    with pytest.raises(BadRequestError, match="administrator"):
        await town.change(role, presence_disabled=True)
    assert town.stage.happened == []


@pytest.mark.parametrize("name", sorted(FOR_OWNERS))
async def test_some_settings_are_for_owners(town, make, name):
    for person in town.people.values():  # an owner may require only what the owner has
        await second_factors.insert_totp(
            make.connection, make.realm_id, person.user_id, name="app", secret=b"s", step=1
        )

    async def change(role):
        if name in REALM_PERMISSIONS:
            await town.permit(role, **{name: town.group("role:moderators")})
        else:
            others = EVERYTHING | {
                "waiting_period_threshold": 5,
                "second_factor_after_provider": True,
                "second_factor_grace_days": 30,
                "second_factor_required_of": "owners",
            }
            await town.change(role, **{name: others[name]})

    with pytest.raises(BadRequestError, match="owner"):
        await change(ADMINISTRATOR)
    assert town.stage.happened == []

    await change(OWNER)
    assert await town.settings() != DEFAULTS


async def test_a_deactivated_user_changes_nothing(town, make):
    town.people[OWNER] = await make.user(role=OWNER, is_active=False)

    with pytest.raises(DomainError) as refusal:
        await town.change(presence_disabled=True)

    assert refusal.value.code == "USER_DEACTIVATED"


async def test_a_permission_is_given_to_people_and_groups(town, make, witnesses):
    cooks = await make.group("cooks")
    member = town.people[MEMBER]
    both = GroupSetting(direct_members=(member.user_id,), direct_subgroups=(cooks,))

    await witnesses.watch(
        lambda: town.permit(can_add_custom_emoji_group=both), [town.people[GUEST]]
    )
    stored = (await town.row()).settings["can_add_custom_emoji_group"]
    assert stored == both.as_json()

    await town.permit(can_add_custom_emoji_group=GroupSetting(direct_subgroups=(cooks,)))
    assert (await town.settings()).can_add_custom_emoji_group == cooks
    await town.permit(can_add_custom_emoji_group=GroupSetting())
    assert (await town.settings()).can_add_custom_emoji_group == town.groups["role:nobody"]


async def test_a_permission_changes_from_what_the_client_knows(town):
    members, owners = town.group("role:members"), town.group("role:owners")
    same = GroupSetting(direct_subgroups=(town.groups["role:members"],))

    with pytest.raises(ExpectationMismatchError) as refusal:
        await town.permit(can_create_groups=PermissionChange(owners, old=owners))
    assert refusal.value.details == {"field_name": "can_create_groups"}
    assert town.stage.happened == []

    await town.permit(can_create_groups=PermissionChange(owners, old=same))
    await town.permit(can_create_groups=PermissionChange(members, old=owners))
    with pytest.raises(ExpectationMismatchError):
        await town.permit(can_create_groups=PermissionChange(members, old=owners))


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("can_create_groups", "role:everyone"),
        ("can_create_groups", "role:internet"),
        ("can_manage_all_groups", "role:nobody"),
        ("can_access_all_users_group", "role:moderators"),
        ("can_access_all_users_group", "role:nobody"),
        ("can_create_web_public_channel_group", "role:members"),
        ("direct_message_permission_group", "role:internet"),
    ],
)
async def test_a_permission_is_not_for_every_group(town, name, group):
    with pytest.raises(BadRequestError, match=name):
        await town.permit(**{name: town.group(group)})


async def test_a_permission_is_not_for_whom_there_is_not(town, make):
    gone = await make.user(is_active=False)
    closed, cooks = await make.group(deactivated=True), await make.group()
    for value in (
        GroupSetting(direct_members=(gone.user_id,)),
        GroupSetting(direct_members=(UserId(2**62),)),
        GroupSetting(group_id=closed),
        GroupSetting(group_id=GroupId(2**62)),
        GroupSetting(direct_members=(town.people[MEMBER].user_id,), direct_subgroups=(closed,)),
    ):
        with pytest.raises(BadRequestError):
            await town.permit(can_create_groups=value)
    with pytest.raises(SystemGroupRequiredError):
        await town.permit(can_create_web_public_channel_group=GroupSetting(group_id=cooks))
    assert town.stage.happened == []


async def test_guests_who_know_other_people_now_register_anew(town, make):
    guest, member = [await town.queue(town.people[role]) for role in (GUEST, MEMBER)]

    await town.permit(can_access_all_users_group=town.group("role:members"))

    assert not await town.is_live(guest)
    assert await town.is_live(member)
    [ended] = [e.event.ended_queues() for e in town.stage.happened if e.event.ended_queues()]
    assert ended == (town.people[GUEST].user_id,)


async def test_a_longer_wait_takes_people_out_of_the_full_members(town, make, witnesses):
    new = await make.user(date_joined=StoppedClock().now())
    queues = [await town.queue(row) for row in (new, town.people[MEMBER])]

    watching = [town.people[OWNER], town.people[MEMBER]]
    seen = await witnesses.watch(lambda: town.change(waiting_period_threshold=3), watching)

    for witness in seen:
        [left] = [e for e in witness.events if e["type"] == "user_group"]
        assert (left["op"], left["user_ids"]) == ("remove_members", [new.user_id])
    assert [await town.is_live(queue) for queue in queues] == [False, True]
    seen = await witnesses.watch(lambda: town.change(waiting_period_threshold=0), watching)
    for witness in seen:
        [come] = [e for e in witness.events if e["type"] == "user_group"]
        assert (come["op"], come["user_ids"]) == ("add_members", [new.user_id])


async def test_newcomers_speak_the_organizations_language(town, make):
    await town.change(default_language="de")

    writer = town.stage.writers.of(make.realm_id)
    new = NewUser(email="new@example.com", full_name="New")
    now = town.stage.clock.now()
    [created] = await writer.write(lambda tx: create_users(tx, [new], now=now))

    [row] = await users.by_ids(make.connection, make.realm_id, [created.user_id])
    assert UserSettings.of(row.settings).default_language == "de"


async def test_a_change_says_when_and_is_in_the_audit_log(town):
    await town.change(name="Town", settings={"presence_disabled": True, "invite_required": False})

    row = await town.row()
    assert row.changed_at == town.stage.happened[-1].position
    before = {"name": "A realm", "presence_disabled": False, "invite_required": True}
    after = {"name": "Town", "presence_disabled": True, "invite_required": False}
    assert await town.audit() == [(town.people[OWNER].user_id, "realm_changed", before, after)]
