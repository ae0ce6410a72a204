"""What the protocol says about who may call an endpoint, of which object: not what the code does.

People are letters: Owner, Administrator, Moderator, member, guest, bot (a member's); `x` is the
owner of another organization with their own key, `-` a client without one. Where the
specification is silent, `rule` says what was decided.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.api.permissions import world
from tests.api.permissions.world import Values, World

EVERYONE: Final = "OAMmgb"
PEOPLE: Final = "OAMmg"
NOT_GUESTS: Final = "OAMmb"
ADMINISTRATORS: Final = "OA"
MODERATORS: Final = "OAM"
OWNERS: Final = "O"
NO_ONE: Final = ""
ANYONE: Final = EVERYONE + "x-"
"""Also without an account here."""
ALL: Final = ANYONE
"""All who try."""

Words = dict[str, Any]
"""Parameters with their values."""
Kinds = dict[str, Any]
"""Those who may, by the kind of object."""
Objects = Callable[[World, str, str], Awaitable[Values]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request, and for each kind of object those who may make it."""

    endpoint: str
    rule: str
    objects: Objects
    allowed: Mapping[str, str]
    fields: Mapping[str, Any] = field(default_factory=dict)
    idle: str = ""
    """The kind of object with which the request is answered, and does nothing."""


ROWS: list[Row] = []


def may(
    endpoint: str,
    rule: str,
    objects: Objects = world.nothing,
    allowed: str | None = None,
    *,
    fields: Mapping[str, Any] | None = None,
    idle: str = "",
    **by_kind: str,
) -> None:
    """A row of the table: `allowed` where there is no object, else one word for each kind."""
    kinds = by_kind if allowed is None else {"none": allowed}
    ROWS.append(
        Row(
            endpoint=endpoint,
            rule=rule,
            objects=objects,
            allowed=kinds,
            fields=fields or {},
            idle=idle,
        )
    )


# What a user may read follows the channel: subscribers, all users where it is public save for
# guests, all clients where it is open to the web. Administrators know of private channels,
# and administer them; they read them no more than others do.
SEND: Kinds = {
    "own": EVERYONE,
    "others": EVERYONE,
    "private": NO_ONE,
    "archived": NO_ONE,
    "strange": NOT_GUESTS,
}
WRITE: Kinds = {"own": EVERYONE, "others": EVERYONE, "archived": NO_ONE}
READ: Kinds = {"own": EVERYONE, "others": EVERYONE, "private": NO_ONE, "archived": EVERYONE}
KNOWN: Kinds = {
    "own": EVERYONE,
    "others": EVERYONE,
    "private": ADMINISTRATORS,
    "archived": EVERYONE,
    "web": EVERYONE,
    "strange": NOT_GUESTS,
}
WEB: Kinds = {"web": EVERYONE + "-", "strange": NOT_GUESTS}

# -- without an account

may("GET /server_settings", "spec 23: no authentication", allowed=ANYONE)
may("GET /emoji_data", "public data", allowed=ANYONE)
may("GET /openapi.json", "public data", allowed=ANYONE)
may("POST /fetch_api_key", "spec 8: credentials in the body", world.sign_in, ANYONE)
may("POST /dev_fetch_api_key", "spec 9: in production always an error", world.sign_in, NO_ONE)
may("GET /dev_list_users", "in production always an error", allowed=NO_ONE)
may(
    "POST /jwt/fetch_api_key",
    "only where the operator has set a key",
    allowed=NO_ONE,
    fields={"token": "a.b.c"},
)

# -- one's own things

may("GET /users/me/alert_words", "one's own", allowed=EVERYONE)
for method in ("POST", "DELETE"):
    words = {"alert_words": ["octopus"]}
    may(f"{method} /users/me/alert_words", "one's own", allowed=EVERYONE, fields=words)
may("GET /drafts", "one's own", allowed=EVERYONE)
may("POST /drafts", "one's own", world.new_draft, EVERYONE)
for method in ("PATCH", "DELETE"):
    path = f"{method} /drafts/{{draft_id}}"
    may(path, "one's own alone", world.draft, own=EVERYONE, others=NO_ONE)
may("GET /saved_snippets", "one's own", allowed=EVERYONE)
may(
    "POST /saved_snippets",
    "one's own",
    allowed=EVERYONE,
    fields={"title": "A title", "content": "text"},
)
for method in ("PATCH", "DELETE"):
    path = f"{method} /saved_snippets/{{saved_snippet_id}}"
    title: Words = {"title": "Another"} if method == "PATCH" else {}
    may(path, "one's own alone", world.snippet, fields=title, own=EVERYONE, others=NO_ONE)
may("GET /scheduled_messages", "one's own", allowed=EVERYONE)
for method in ("PATCH", "DELETE"):
    path = f"{method} /scheduled_messages/{{scheduled_message_id}}"
    other: Words = {"content": "Another"} if method == "PATCH" else {}
    objects = world.scheduled_message
    may(path, "one's own alone", objects, fields=other, own=EVERYONE, others=NO_ONE)
tokens: dict[str, Words] = {
    "apns_device_token": {"token": "ab" * 32, "appid": "com.example.app"},
    "android_gcm_reg_id": {"token": "a-token"},
}
for name, token in tokens.items():
    may(f"POST /users/me/{name}", "one's own, of people", fields=token, allowed=PEOPLE)
    may(f"DELETE /users/me/{name}", "one's own alone", world.push_token, own=PEOPLE, others=NO_ONE)
may("POST /mobile_push/register", "nothing reaches phones here", world.sealed_device, NO_ONE)
may("POST /register_client_device", "one's own, of people", allowed=PEOPLE)
may(
    "POST /remove_client_device",
    "one's own alone",
    world.client_device,
    own=PEOPLE,
    others=NO_ONE,
)
may("POST /mobile_push/test_notification", "nothing reaches phones here", allowed=NO_ONE)
may("POST /mobile_push/e2ee/test_notification", "there is no such device", allowed=NO_ONE)
may("GET /web_push/key", "public data", allowed=EVERYONE)
may("GET /web_push/subscriptions", "one's own", allowed=EVERYONE)
may("POST /web_push/subscriptions", "one's own, of people", world.new_browser, PEOPLE)
may(
    "DELETE /web_push/subscriptions/{subscription_id}",
    "one's own alone",
    world.browser,
    own=PEOPLE,
    others=NO_ONE,
)
may(
    "POST /web_push/test_notification",
    "there is no such browser",
    fields={"subscription_id": 2**40},
    allowed=NO_ONE,
)
may("GET /reminders", "one's own", allowed=EVERYONE)
may(
    "DELETE /reminders/{reminder_id}",
    "one's own alone",
    world.reminder,
    own=EVERYONE,
    others=NO_ONE,
)
may("GET /navigation_views", "one's own", allowed=EVERYONE)
may("POST /navigation_views", "spec 13: one's own", world.new_view, EVERYONE)
for method in ("PATCH", "DELETE"):
    path = f"{method} /navigation_views/{{fragment}}"
    pinned: Words = {"is_pinned": False} if method == "PATCH" else {}
    may(path, "one's own alone", world.view, fields=pinned, own=EVERYONE, others=NO_ONE)
may(
    "POST /users/me/onboarding_steps",
    "people's own; bots are shown nothing",
    allowed=PEOPLE,
    fields={"onboarding_step": "intro_resolve_topic"},
)
for path in ("/settings", "/settings/display", "/settings/notifications"):
    may(f"PATCH {path}", "one's own", allowed=EVERYONE, fields={"starred_message_counts": True})
    may(
        f"PATCH {path}",
        "those of others: for administrators",
        world.settings_of_other,
        fields={"starred_message_counts": False},
        others=ADMINISTRATORS,
        archived=ADMINISTRATORS,
    )
may(
    "POST /users/me/muted_users/{muted_user_id}",
    "all but oneself",
    world.muted_user,
    own=NO_ONE,
    others=EVERYONE,
)
may(
    "DELETE /users/me/muted_users/{muted_user_id}",
    "users one has muted oneself",
    world.muted_already,
    own=EVERYONE,
    others=NO_ONE,
)
may("POST /zcommand", "one's own client", allowed=EVERYONE, fields={"command": "/ping"})

# -- events

may(
    "POST /register",
    "spectators are given the state where they may look",
    allowed=EVERYONE + "-",
    fields={"fetch_event_types": ["realm"]},
)
may(
    "GET /events",
    "one's own queue alone",
    world.queue,
    fields={"dont_block": True},
    own=EVERYONE,
    others=NO_ONE,
)
may("DELETE /events", "one's own queue alone", world.queue, own=EVERYONE, others=NO_ONE)

# -- the organization

may("GET /realm/audit_log", "for administrators", allowed=ADMINISTRATORS)
may("PATCH /realm", "for administrators", allowed=ADMINISTRATORS, fields={"description": "x"})
may(
    "PATCH /realm",
    "what says who comes in and who governs is for owners",
    allowed=OWNERS,
    fields={"waiting_period_threshold": 0, "invite_required": True},
)
may(
    "PATCH /realm/user_settings_defaults",
    "spec 4: organization administrators only",
    allowed=ADMINISTRATORS,
    fields={"starred_message_counts": True},
)
may("GET /realm/linkifiers", "all users see links", allowed=EVERYONE)
may("PATCH /realm/linkifiers", "for administrators", world.order_of_linkifiers, ADMINISTRATORS)
may("POST /realm/filters", "for administrators", world.pattern, ADMINISTRATORS)
may(
    "PATCH /realm/filters/{filter_id}",
    "for administrators",
    world.linkifier_and_pattern,
    ADMINISTRATORS,
)
may("DELETE /realm/filters/{filter_id}", "for administrators", world.linkifier, ADMINISTRATORS)
may("POST /realm/playgrounds", "for administrators", world.new_playground, ADMINISTRATORS)
may(
    "DELETE /realm/playgrounds/{playground_id}",
    "for administrators",
    world.playground,
    ADMINISTRATORS,
)

DOMAINS = "who comes in is for owners to say; domains of the organization are no secret within it"
may("GET /realm/domains", DOMAINS, allowed=EVERYONE)
may("POST /realm/domains", DOMAINS, world.new_domain, OWNERS)
subdomains: Words = {"allow_subdomains": True}
may("PATCH /realm/domains/{domain}", DOMAINS, world.domain, OWNERS, fields=subdomains)
may("DELETE /realm/domains/{domain}", DOMAINS, world.domain, OWNERS)
CONFIRMED = "whose an address is, administrators know"
may("GET /realm/unconfirmed_addresses", CONFIRMED, allowed=ADMINISTRATORS)
may(
    "DELETE /realm/unconfirmed_addresses/{user_id}",
    CONFIRMED,
    world.person_of_address,
    ADMINISTRATORS,
)
may(
    "DELETE /users/{user_id}/second_factors",
    "administrators reset what users have lost; of owners, owners",
    world.person_with_factor,
    ADMINISTRATORS,
)
OWNERS_ADMIT = "owners admit directories, which act on their behalf"
may("GET /realm/scim/tokens", OWNERS_ADMIT, allowed=OWNERS)
may("POST /realm/scim/tokens", OWNERS_ADMIT, fields={"name": "Okta"}, allowed=OWNERS)
may("DELETE /realm/scim/tokens/{token_id}", OWNERS_ADMIT, world.scim_token, OWNERS)
may("POST /realm/scim/closures", "owners alone let directories close more", allowed=OWNERS)
for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
    may(
        f"{method} /scim/v2/{{filename}}",
        "directories, with tokens of their own",
        fields={"filename": "Users"},
        allowed=NO_ONE,
    )
may(
    "GET /realm/retention_preview",
    "owners set the retention",
    allowed=OWNERS,
    fields={"days": 30},
)
OWN_DATA = "one's own, of people"
may("GET /users/me/exports", OWN_DATA, allowed=PEOPLE)
may("POST /users/me/exports", OWN_DATA, world.no_own_exports, PEOPLE)
may(
    "DELETE /users/me/exports/{export_id}",
    OWN_DATA,
    world.own_export,
    own=PEOPLE,
    others=NO_ONE,
)
may(
    "GET /account_exports/{export_id}/{filename}",
    OWN_DATA,
    world.own_export,
    fields={"filename": "account.zip"},
    own=PEOPLE,
    others=NO_ONE,
)
HOLDERS = "owners and compliance officers place and release legal holds"
may("GET /compliance/legal_holds", HOLDERS, world.no_officers, OWNERS)
may("POST /compliance/legal_holds", HOLDERS, world.new_hold, OWNERS)
may("POST /compliance/legal_holds/{hold_id}/release", HOLDERS, world.legal_hold, OWNERS)
APPOINT = "owners appoint officers; being an owner is not enough to search"
PROVEN: Words = {"old_password": world.PASSWORD}
may("GET /compliance/officers", APPOINT, world.no_officers, OWNERS)
may("POST /compliance/officers", APPOINT, world.future_officer, OWNERS, fields=PROVEN)
may("DELETE /compliance/officers/{user_id}", APPOINT, world.officer, OWNERS)
rule: Words = {"needs_two_persons": False, **PROVEN}
may("PATCH /compliance/rules", APPOINT, allowed=OWNERS, fields=rule)
OFFICERS = "for compliance officers, which neither guests nor bots can be"
may("GET /compliance/cases", "for owners and officers", world.no_officers, OWNERS)
opening: Words = {"reason": "Case 7", **PROVEN}
may("POST /compliance/cases", OFFICERS, world.no_officers, NO_ONE, fields=opening)
search = "POST /compliance/cases/{case_id}/search"
may(search, OFFICERS, world.compliance_case, own="OAMm", others=NO_ONE)
approve = "POST /compliance/cases/{case_id}/approve"
may(approve, OFFICERS, world.waiting_case, "OAMm", fields=PROVEN)
close = "POST /compliance/cases/{case_id}/close"
may(close, "for owners and officers", world.compliance_case, own="OAMm", others="OAMm")
INVITES = "members invite, guests do not; links are for administrators to make"
may(
    "GET /invites",
    "one's own; administrators see those to roles up to theirs, too",
    allowed=EVERYONE,
)
nowhere: Words = {"stream_ids": []}
may("POST /invites", INVITES, world.new_invitation, NOT_GUESTS, fields=nowhere)
may("POST /invites/multiuse", INVITES, allowed=ADMINISTRATORS)
TAKEN_BACK = "by its sender, and by administrators"
path = "/invites/{invite_id}"
may(f"DELETE {path}", TAKEN_BACK, world.invitation, own=EVERYONE, others=ADMINISTRATORS)
may(f"POST {path}/resend", INVITES, world.invitation, own=NOT_GUESTS, others=ADMINISTRATORS)
path = "/invites/multiuse/{invite_id}"
may(f"DELETE {path}", TAKEN_BACK, world.invitation_link, own=EVERYONE, others=ADMINISTRATORS)
hello: Words = {"welcome_message_custom_text": "Hello"}
path = "POST /realm/test_welcome_bot_custom_message"
may(path, "for administrators", allowed=ADMINISTRATORS, fields=hello)
FIELDS = "fields are for administrators; all users see them"
may("GET /realm/profile_fields", FIELDS, allowed=EVERYONE)
may("POST /realm/profile_fields", FIELDS, world.new_profile_field, ADMINISTRATORS)
may("PATCH /realm/profile_fields", FIELDS, world.order_of_profile_fields, ADMINISTRATORS)
path = "/realm/profile_fields/{field_id}"
may(f"PATCH {path}", FIELDS, world.profile_field, ADMINISTRATORS, fields={"hint": "Another"})
may(f"DELETE {path}", FIELDS, world.profile_field, ADMINISTRATORS)

# -- people

ALL_PEOPLE: Kinds = {"own": EVERYONE, "others": EVERYONE, "archived": EVERYONE}
may("GET /users", "all users know each other by default", allowed=EVERYONE)
may("GET /users/me", "oneself", allowed=EVERYONE)
may("GET /users/{user_id}", "all users know each other by default", world.user, **ALL_PEOPLE)
may("GET /users/{email}", "all users know each other by default", world.email, **ALL_PEOPLE)
may("PATCH /users/me/profile_data", "one's own; bots have none", world.answer, PEOPLE)
may("PATCH /users/me/profile_data", "for administrators", world.closed_answer, ADMINISTRATORS)
may("DELETE /users/me/profile_data", "one's own; bots have none", world.answered, PEOPLE)
for path, objects in (("{user_id}", world.user), ("{email}", world.email)):
    may(
        f"PATCH /users/{path}",
        "for administrators",
        objects,
        fields={"full_name": "Another name"},
        own=ADMINISTRATORS,
        others=ADMINISTRATORS,
        archived=ADMINISTRATORS,
    )
may(
    "PATCH /users/{user_id}",
    "for administrators",
    world.user_and_answer,
    others=ADMINISTRATORS,
    archived=ADMINISTRATORS,
)

may(
    "POST /users",
    "for administrators with the operator's leave to make accounts",
    world.new_person,
    ADMINISTRATORS,
)
CLOSE = "for administrators; owners' accounts for owners"
may("DELETE /users/{user_id}", CLOSE, world.person, others=ADMINISTRATORS, owner=OWNERS)
may(
    "POST /users/{user_id}/reactivate",
    CLOSE,
    world.person_gone,
    others=ADMINISTRATORS,
    owner=OWNERS,
)

OWN_KEYS = "one's own, with the account's own key"
NEW_KEY = {"name": "A program", "scopes": ["read"], "old_password": world.PASSWORD}
may("GET /users/me/api_keys", OWN_KEYS, allowed=EVERYONE)
may("POST /users/me/api_keys", OWN_KEYS, allowed=EVERYONE, fields=NEW_KEY)
may(
    "DELETE /users/me/api_keys/{key_id}",
    OWN_KEYS,
    world.api_key,
    own=EVERYONE,
    others=NO_ONE,
)

may("GET /bot_storage", "bots have a store", allowed="b")
may("PUT /bot_storage", "bots have a store", allowed="b", fields={"storage": {"a": "b"}})
may("DELETE /bot_storage", "bots have a store", allowed="b")

for path in ("slack_incoming", "json", "{integration}"):
    # Those of bots, save for outgoing ones, are in the address; a table has none.
    may(
        f"POST /external/{path}",
        "all holders of a key",
        world.webhook,
        EVERYONE + "-",
        fields={"integration": "github"} if "{" in path else {},
    )

may(
    "GET /external/{integration}",
    "all holders of a key",
    world.webhook,
    EVERYONE + "-",
    fields={"integration": "dropbox", "challenge": "5e1c"},
)
may("GET /integrations", "all users", allowed=EVERYONE)

# -- bots

HAVE_BOTS: Final = "OAMm"
"""People, but for guests."""
LOOK_AFTER: Kinds = {"own": HAVE_BOTS, "others": ADMINISTRATORS}
may("GET /bots", "one's own", allowed=HAVE_BOTS)
may("POST /bots", "can_create_bots_group: members", world.new_bot, HAVE_BOTS)
may("PATCH /bots/{bot_id}", "its owner and administrators", world.bot_and_name, **LOOK_AFTER)
may("GET /bots/{bot_id}/api_key", "its owner and administrators", world.bot, **LOOK_AFTER)
may("DELETE /bots/{bot_id}", "its owner and administrators", world.bot, **LOOK_AFTER)
path = "POST /bots/{bot_id}/api_key/regenerate"
may(path, "its owner and administrators", world.bot, **LOOK_AFTER)
path = "GET /bots/{bot_id}/last_delivery"
may(path, "its owner and administrators", world.incoming_bot, **LOOK_AFTER)
path = "/bots/{bot_id}/webhook_secret"
may(f"GET {path}", "its owner and administrators", world.incoming_bot, **LOOK_AFTER)
may(f"PUT {path}", "its owner and administrators", world.secret_of_bot, **LOOK_AFTER)
may(f"DELETE {path}", "its owner and administrators", world.bot_with_secret, **LOOK_AFTER)

path = "/realm/slash_commands"
may(f"GET {path}", "all users call them", allowed=EVERYONE)
may(f"POST {path}", "the bot's owner and administrators", world.new_command, **LOOK_AFTER)
path = "/realm/slash_commands/{command_id}"
may(f"PATCH {path}", "the bot's owner and administrators", world.command_and_hint, **LOOK_AFTER)
may(f"DELETE {path}", "the bot's owner and administrators", world.command, **LOOK_AFTER)
may(
    "POST /realm/slash_commands/call",
    "people who may post there; bots call none",
    world.call_of_command,
    PEOPLE,
)

# -- presence and status

may(
    "POST /users/me/presence",
    "spec 6; bots are never there",
    allowed=PEOPLE,
    fields={"status": "active"},
)
may("GET /realm/presence", "all users know each other by default", allowed=EVERYONE)
SEEN: Kinds = {"others": EVERYONE, "archived": NO_ONE}
may("GET /users/{user_id}/presence", "of active people who were seen", world.seen, **SEEN)
may("GET /users/{email}/presence", "the same", world.seen_by_email, **SEEN)
may(
    "POST /users/me/status",
    "one's own; not of bots",
    allowed=PEOPLE,
    fields={"status_text": "here"},
)
STATUS_OF: Kinds = {"own": PEOPLE, "others": EVERYONE, "archived": EVERYONE}
may("GET /users/{user_id}/status", "of all people one knows", world.user, **STATUS_OF)
may(
    "POST /users/{user_id}/status",
    "administrators, of active people",
    world.user,
    fields={"status_text": "there"},
    own=ADMINISTRATORS,
    others=ADMINISTRATORS,
    archived=NO_ONE,
)

# -- groups

GROUPS = "spec, user group; limits: the creator manages a group, and owners manage all by default"
ONES_GROUP: Kinds = {"own": NOT_GUESTS, "others": OWNERS, "archived": NO_ONE, "system": NO_ONE}
SEEN_GROUP: Kinds = dict.fromkeys(("own", "others", "archived", "system"), EVERYONE)
may("GET /user_groups", "all users see groups", allowed=EVERYONE)
may(
    "POST /user_groups/create",
    "can_create_groups is for members by default, bots among them",
    world.new_group,
    "OAMmb",
)
may(
    "PATCH /user_groups/{user_group_id}",
    f"{GROUPS}; a deactivated group can be renamed",
    world.group,
    fields={"description": "Changed"},
    **ONES_GROUP | {"archived": NOT_GUESTS},
)
may(
    "PATCH /user_groups/{user_group_id}",
    f"{GROUPS}; a deactivated group can be reactivated",
    world.group,
    fields={"deactivated": False},
    archived=NOT_GUESTS,
    system=NO_ONE,
)
may("DELETE /user_groups/{user_group_id}", GROUPS, world.group, **ONES_GROUP)
may("POST /user_groups/{user_group_id}/deactivate", GROUPS, world.group, **ONES_GROUP)
may("POST /user_groups/{user_group_id}/members", GROUPS, world.group_and_newcomer, **ONES_GROUP)
may(
    "POST /user_groups/{user_group_id}/members",
    "can_join_group is role:nobody by default",
    world.group_and_oneself,
    **ONES_GROUP,
)
may("POST /user_groups/{user_group_id}/subgroups", GROUPS, world.group_and_subgroup, **ONES_GROUP)
for part in ("members", "subgroups"):
    path = f"GET /user_groups/{{user_group_id}}/{part}"
    may(path, "all users see groups", world.group, **SEEN_GROUP)
may(
    "GET /user_groups/{user_group_id}/members/{user_id}",
    "all users see groups",
    world.group_and_user,
    **SEEN_GROUP,
)

# -- channels

may("GET /streams", "those that one may know of", allowed=EVERYONE)
may("GET /users/me/subscriptions", "one's own", allowed=EVERYONE)
KNOW = "users who may know of a channel: subscribers; but for guests, of all public ones"
may("GET /get_stream_id", KNOW, world.channel_name, **KNOWN)
may("GET /streams/{stream_id}", KNOW, world.channel, **KNOWN)
may("GET /streams/{stream_id}/members", KNOW, world.channel, **KNOWN)
may(
    "GET /users/me/{stream_id}/topics",
    "readers of the channel",
    world.channel,
    **READ | WEB,
)
may(
    "POST /channels/create",
    "can_create_public_channel_group is for members by default",
    world.new_channel,
    NOT_GUESTS,
)
may(
    "POST /channels/create",
    "can_create_private_channel_group is for members by default",
    world.new_channel,
    NOT_GUESTS,
    fields={"invite_only": True},
)
may(
    "POST /channels/create",
    "can_create_web_public_channel_group is for owners by default",
    world.new_channel,
    OWNERS,
    fields={"is_web_public": True},
)
may(
    "POST /users/me/subscriptions",
    "spec 3, rules: everyone but guests may subscribe to any public channel",
    world.subscription,
    strange=NOT_GUESTS,
    private=NO_ONE,
    web=EVERYONE,
)
may(
    "POST /users/me/subscriptions",
    "can_create_public_channel_group is for members by default",
    world.new_subscription,
    NOT_GUESTS,
)
may(
    "POST /users/me/subscriptions",
    "can_add_subscribers_group of the organization is for members by default; only who may "
    "read a channel adds others to it",
    world.subscription_of_newcomer,
    own=NOT_GUESTS,
    others=NOT_GUESTS,
    strange=NOT_GUESTS,
    private=NO_ONE,
)
may(
    "DELETE /users/me/subscriptions",
    "all may leave by themselves",
    world.own_subscription,
    own=EVERYONE,
)
may(
    "DELETE /users/me/subscriptions",
    "spec, channel: administrators always; the creator administers",
    world.subscription_of_other,
    own=NOT_GUESTS,
    others=ADMINISTRATORS,
    private=ADMINISTRATORS,
)
may(
    "POST /streams/{stream_id}/delete_topic",
    "spec 18: can_delete_any_message_group is for administrators; content access",
    world.channel,
    fields={"topic_name": "t"},
    own=ADMINISTRATORS,
    private=NO_ONE,
)
for method in ("PUT", "DELETE"):
    may(
        f"{method} /streams/{{stream_id}}/pinned_topics",
        "can_pin_group is for moderators; those who administer the channel; content access",
        world.channel,
        fields={"topic": "t"},
        own=NOT_GUESTS,
        private=NO_ONE,
    )
may(
    "PUT /streams/{stream_id}/topic_descriptions",
    "can_move_messages_between_topics_group is for members; content access",
    world.channel,
    fields={"topic": "t", "description": "News"},
    own=EVERYONE,
    private=NO_ONE,
)
may(
    "GET /streams/{stream_id}/topic_descriptions",
    "readers of the channel",
    world.channel,
    **READ,
    web=EVERYONE,
)
may(
    "GET /streams/{stream_id}/pins",
    "readers of the channel",
    world.channel,
    **READ,
    web=EVERYONE,
)
ADMINISTER = "spec, channel: the creator administers it by default, administrators always"
ADMINISTERED: Kinds = {"own": NOT_GUESTS, "others": ADMINISTRATORS, "private": ADMINISTRATORS}
may(
    "PATCH /streams/{stream_id}",
    f"{ADMINISTER}; with metadata access",
    world.one_channel,
    fields={
        "description": "Changed",
        "can_send_message_group": {"new": {"direct_members": [], "direct_subgroups": []}},
    },
    **ADMINISTERED,
)
may(
    "PATCH /streams/{stream_id}",
    f"{ADMINISTER}; for can_subscribe_group with content access",
    world.channel_and_readers,
    **ADMINISTERED | {"private": NO_ONE},
)
may(
    "PATCH /streams/{stream_id}",
    f"{ADMINISTER}; what newcomers join is for administrators",
    world.one_channel,
    fields={"is_default_stream": True},
    **ADMINISTERED | {"own": ADMINISTRATORS, "private": NO_ONE},
)
may("DELETE /streams/{stream_id}", ADMINISTER, world.one_channel, **ADMINISTERED)
may(
    "GET /streams/{stream_id}/email_address",
    "readers of the channel",
    world.channel,
    **READ | {"archived": NO_ONE},
)
NEWCOMERS = "what newcomers join is for administrators; never private"
may(
    "POST /default_streams",
    NEWCOMERS,
    world.one_channel,
    **ADMINISTERED | {"own": ADMINISTRATORS, "private": NO_ONE},
)
may("DELETE /default_streams", NEWCOMERS, world.default_channel, ADMINISTRATORS)
for method in ("GET", "POST"):
    may(
        f"{method} /email_notifications/unsubscribe/{{token}}",
        "all holders of the link",
        world.unsubscribe_link,
        true=ANYONE,
        false=NO_ONE,
    )
CALLS = "all may have a call; this server has no such service configured"
may("GET /calls/bigbluebutton/create", CALLS, fields={"meeting_name": "Lunch"}, allowed=NO_ONE)
may("POST /calls/constructorgroups/create", CALLS, allowed=NO_ONE)
may("POST /calls/nextcloud_talk/create", CALLS, fields={"room_name": "Lunch"}, allowed=NO_ONE)
may("POST /calls/webex/create", CALLS, allowed=NO_ONE)
may("POST /calls/zoom/create", CALLS, allowed=NO_ONE)
CHANNEL_GROUPS = "what newcomers may choose is for administrators to say"
may("POST /default_stream_groups/create", CHANNEL_GROUPS, world.new_channel_group, ADMINISTRATORS)
may(
    "PATCH /default_stream_groups/{group_id}",
    CHANNEL_GROUPS,
    world.channel_group,
    ADMINISTRATORS,
    fields={"new_description": "Better"},
)
may("DELETE /default_stream_groups/{group_id}", CHANNEL_GROUPS, world.channel_group, ADMINISTRATORS)
may(
    "PATCH /default_stream_groups/{group_id}/streams",
    CHANNEL_GROUPS,
    world.channel_for_a_group,
    ADMINISTRATORS,
)
may("GET /channel_folders", "all users see folders", allowed=EVERYONE)
FOLDERS = "spec 7: for administrators"
may("POST /channel_folders/create", FOLDERS, world.new_folder, ADMINISTRATORS)
may("PATCH /channel_folders", FOLDERS, world.order_of_folders, ADMINISTRATORS)
may(
    "PATCH /channel_folders/{channel_folder_id}",
    FOLDERS,
    world.folder,
    ADMINISTRATORS,
    fields={"is_archived": True},
)
may(
    "PATCH /users/me/subscriptions",
    "one's own subscriptions",
    world.joined_channel,
    EVERYONE,
)
OWN_SUBSCRIPTION: Kinds = {"own": EVERYONE, "others": EVERYONE, "private": NO_ONE}
may(
    "PATCH /users/me/subscriptions/{stream_id}",
    "one's own subscription",
    world.channel,
    fields={"property": "is_muted", "value": "true"},
    **OWN_SUBSCRIPTION,
)
may(
    "POST /users/me/subscriptions/properties",
    "one's own subscription",
    world.subscription_data,
    **OWN_SUBSCRIPTION,
)
may("GET /users/{user_id}/subscriptions/{stream_id}", KNOW, world.channel_and_user, **KNOWN)
may("GET /users/{user_id}/channels", "those that one may know of", world.user, **ALL_PEOPLE)
TOPIC = {"topic_name": "t"}
may(
    "POST /mark_stream_as_read",
    "readers of the channel",
    world.channel,
    **READ,
)
may(
    "POST /mark_topic_as_read",
    "readers of the channel",
    world.channel,
    fields=TOPIC,
    own=EVERYONE,
    private=NO_ONE,
)
may("POST /mark_all_as_read", "one's own", allowed=EVERYONE)
may(
    "POST /user_topics",
    "readers of the channel",
    world.channel,
    fields={"topic": "t", "visibility_policy": 3},
    own=EVERYONE,
    others=EVERYONE,
    private=NO_ONE,
)
may(
    "PATCH /users/me/subscriptions/muted_topics",
    "readers of the channel",
    world.channel,
    fields={"topic": "t", "op": "add"},
    own=EVERYONE,
    private=NO_ONE,
)

# -- messages

MESSAGE = "readers of the message"
may("GET /messages/{message_id}", MESSAGE, world.message, **READ | WEB)
may("GET /messages/{message_id}", MESSAGE, world.direct_message, own=EVERYONE, private=NO_ONE)
may("GET /messages/{message_id}/history", MESSAGE, world.message, **READ)
may("GET /messages/{message_id}/read_receipts", MESSAGE, world.message, **READ)
PAGE = {"anchor": "newest", "num_before": 1, "num_after": 0}
may("GET /messages", "what one may read", allowed=EVERYONE, fields=PAGE)
may(
    "GET /messages",
    "spectators read what is open to the web",
    allowed=EVERYONE + "-",
    fields=PAGE | {"narrow": [["channels", "web-public"]]},
)
may(
    "GET /messages/matches_narrow",
    "what one may read",
    allowed=EVERYONE,
    fields={"msg_ids": [], "narrow": []},
)
may(
    "POST /messages",
    "spec 1, can_send_message_group is role:everyone; an archived channel is closed",
    world.place,
    fields={"type": "channel", "topic": "t", "content": "hello"},
    **SEND,
)
may(
    "POST /messages",
    "direct_message_permission_group is role:everyone; not to deactivated users",
    world.recipient,
    fields={"type": "direct", "content": "hello"},
    **WRITE,
)
may(
    "POST /scheduled_messages",
    "spec 2: where one may send now",
    world.place,
    fields={"type": "channel", "topic": "t", "content": "hello", **world.IN_TIME},
    **SEND,
)
may(
    "POST /scheduled_messages",
    "spec 2: recipients one may write to now",
    world.recipient,
    fields={"type": "direct", "content": "hello", **world.IN_TIME},
    **WRITE,
)
may(
    "POST /reminders",
    "spec 17: of messages that one may read",
    world.message,
    fields=world.IN_TIME,
    **READ,
)
may("POST /messages/render", "any text", allowed=EVERYONE, fields={"content": "hello"})
may(
    "PATCH /messages/{message_id}",
    "the sender alone changes what a message says",
    world.message,
    fields={"content": "changed"},
    own=EVERYONE,
    others=NO_ONE,
    private=NO_ONE,
)
may(
    "PATCH /messages/{message_id}",
    "can_move_messages_between_topics_group is role:everyone",
    world.message,
    fields={"topic": "elsewhere", "propagate_mode": "change_one"},
    own=EVERYONE,
    others=EVERYONE,
    private=NO_ONE,
)
may(
    "DELETE /messages/{message_id}",
    "spec 18: own ones all users, any one administrators, with content access",
    world.message,
    own=EVERYONE,
    others=ADMINISTRATORS,
    private=NO_ONE,
)
for method in ("PUT", "DELETE"):
    may(
        f"{method} /messages/{{message_id}}/pin",
        "can_pin_group is for moderators; content access",
        world.message,
        own=MODERATORS,
        others=MODERATORS,
        private=NO_ONE,
    )
may(
    "PATCH /messages",
    "those who may move each of the messages",
    world.message_in_bulk,
    fields={"topic": "elsewhere"},
    own=EVERYONE,
    others=EVERYONE,
    private=NO_ONE,
)
may(
    "POST /messages/delete",
    "those who may delete each; what one may not read is gone already",
    world.message_in_bulk,
    idle="private",
    own=EVERYONE,
    others=ADMINISTRATORS,
    private=EVERYONE,
)
may(
    "POST /messages/{message_id}/report",
    MESSAGE,
    world.message,
    fields={"report_type": "spam"},
    others=EVERYONE,
    private=NO_ONE,
)
may(
    "POST /messages/flags",
    "spec 12: messages that one may read; the answer lists those that have changed",
    world.message_in_list,
    fields={"op": "add", "flag": "starred"},
    idle="private",
    own=EVERYONE,
    others=EVERYONE,
    private=EVERYONE,
    archived=EVERYONE,
)
may(
    "POST /messages/flags/narrow",
    "what one may read",
    allowed=EVERYONE,
    fields=PAGE | {"narrow": [], "op": "add", "flag": "read"},
)
for method, objects in (("POST", world.message), ("DELETE", world.reaction)):
    may(
        f"{method} /messages/{{message_id}}/reactions",
        "readers of the message; one takes back one's own reactions alone",
        objects,
        fields={"emoji_name": "octopus"},
        own=EVERYONE,
        others=EVERYONE if method == "POST" else NO_ONE,
        private=NO_ONE,
    )
may(
    "POST /submessage",
    "readers of the message",
    world.poll,
    fields={
        "msg_type": "widget",
        "content": '{"type": "new_option", "option": "no", "idx": 7}',
    },
    own=EVERYONE,
    others=EVERYONE,
    private=NO_ONE,
)
may(
    "PUT /messages/{message_id}/buttons",
    "the bot that has sent the message, and its owner",
    world.message_with_buttons,
    fields={"buttons": []},
    own=EVERYONE,
    others=NO_ONE,
    private=NO_ONE,
)
may(
    "POST /messages/{message_id}/buttons/click",
    "people who may read the message, and write there",
    world.message_with_buttons,
    fields={"button_id": "yes"},
    own=PEOPLE,
    others=PEOPLE,
    private=NO_ONE,
    archived=NO_ONE,
)
may(
    "POST /message_buttons/answers/{answer_token}",
    "services that know the address",
    world.answer_token,
    true=ANYONE,
    false=NO_ONE,
)
may(
    "POST /slash_commands/answers/{answer_token}",
    "services that know the address",
    world.command_answer_token,
    true=ANYONE,
    false=NO_ONE,
)
may(
    "POST /typing",
    "users who may write there",
    world.recipient,
    fields={"op": "start", "type": "direct"},
    others=EVERYONE,
)
may(
    "POST /typing",
    "users who may write there",
    world.channel,
    fields={"op": "start", "type": "channel", "topic": "t"},
    own=EVERYONE,
    others=EVERYONE,
    private=NO_ONE,
    archived=NO_ONE,
)
may(
    "POST /messages/{message_id}/typing",
    "the sender alone edits a message",
    world.message,
    fields={"op": "start"},
    own=EVERYONE,
    others=NO_ONE,
    private=NO_ONE,
    archived=NO_ONE,
)

# -- files

FILES: Kinds = {
    "unshared": NO_ONE,
    "own": EVERYONE,
    "others": EVERYONE,
    "private": NO_ONE,
    "web": EVERYONE + "-",
    "strange": NOT_GUESTS,
}
SHARED = "their own, and what is in a message that they may read"
may("POST /user_uploads", "all users", allowed=EVERYONE)
may("GET /user_uploads/{realm_id_str}/{filename}", SHARED, world.file_by_text, **FILES)
may("GET /user_uploads/{realm_id}/{filename}", SHARED, world.file, **FILES)
may("GET /user_uploads/download/{realm_id}/{filename}", SHARED, world.file, **FILES)
may(
    "GET /user_uploads/temporary/{token}/{filename}",
    "all holders of the link",
    world.file_link,
    true=ANYONE,
    false=NO_ONE,
)
may(
    "GET /user_avatars/{realm_id}/{filename}",
    "all who know the address",
    world.emoji_picture,
    true=ANYONE,
    false=NO_ONE,
)
may(
    "GET /user_avatars/identicon/{filename}",
    "they say nothing of any user",
    world.identicon,
    true=ANYONE,
    false=NO_ONE,
)
may(
    "GET /external_content/{digest}/{url}",
    "all holders of the link, which only the server makes",
    world.linked_picture,
    true=ANYONE,
    false=NO_ONE,
)
may("POST /users/me/avatar", "one's own", allowed=EVERYONE)
may("DELETE /users/me/avatar", "one's own", allowed=EVERYONE)
for end in ("", "/medium"):
    may(
        f"GET /avatar/{{user_id}}{end}",
        "of all users; spectators learn nothing that is made of an address",
        world.user,
        own=EVERYONE + "-",
        others=EVERYONE + "-",
        archived=EVERYONE + "-",
    )
    may(f"GET /avatar/{{email}}{end}", "of all users", world.email, **ALL_PEOPLE)
may("GET /realm/emoji", "all users", allowed=EVERYONE)
EMOJI = "users who may add emoji in the organization"
may("POST /realm/emoji/{emoji_name}", EMOJI, world.new_emoji, NOT_GUESTS)
may(
    "DELETE /realm/emoji/{emoji_name}",
    "their own, if they may add emoji; administrators all",
    world.emoji,
    own=NOT_GUESTS,
    others=ADMINISTRATORS,
)
for picture in ("icon", "logo"):
    fields = {"night": True} if picture == "logo" else {}
    may(f"GET /realm/{picture}", "all users", allowed=EVERYONE, fields=fields)
    may(f"POST /realm/{picture}", "for administrators", allowed=ADMINISTRATORS, fields=fields)
    may(f"DELETE /realm/{picture}", "for administrators", allowed=ADMINISTRATORS, fields=fields)
may(
    "GET /user_uploads/thumbnail/{realm_id}/{filename}/{format}",
    SHARED,
    world.thumbnail,
    **FILES,
)
may("GET /thumbnail/status/{realm_id_str}/{filename}", SHARED, world.file_by_text, **FILES)
may("GET /static/images/loading/loader-black.svg", "it says nothing", allowed=ANYONE)
may("GET /static/generated/emoji/images/emoji/unicode/zulip.png", "it says nothing", allowed=ANYONE)
may("OPTIONS /tus", "it says nothing", allowed=ANYONE)
may("POST /tus", "all users", allowed=EVERYONE)
for method in ("HEAD", "PATCH", "DELETE"):
    may(f"{method} /tus/{{upload}}", "one's own", world.tus, own=EVERYONE, others=NO_ONE)
may("GET /attachments", "one's own", allowed=EVERYONE)
may(
    "DELETE /attachments/{attachment_id}",
    "one's own",
    world.attachment,
    own=EVERYONE,
    others=NO_ONE,
)
may("GET /imports", "for owners", allowed=OWNERS)
may("GET /imports/{request_id}", "for owners", world.import_request, OWNERS)
may("POST /imports/{request_id}/start", "for owners", world.import_request, OWNERS)
may("DELETE /imports/{request_id}", "for owners", world.import_request, OWNERS)
may("POST /imports/abandon", "for owners", world.unfinished_import, OWNERS)
may("POST /imports/invitations", "for owners", allowed=OWNERS)
may("GET /export/realm", "for administrators", allowed=ADMINISTRATORS)
may("GET /export/realm/consents", "for administrators", allowed=ADMINISTRATORS)
may("POST /export/realm", "for administrators", world.no_exports, allowed=ADMINISTRATORS)
may("DELETE /export/realm/{export_id}", "for administrators", world.export, allowed=ADMINISTRATORS)
may(
    "GET /exports/{folder}/{secret}/{filename}",
    "all who know its address",
    world.export_file,
    true=ANYONE,
    false=NO_ONE,
)
may("POST /realm/deactivate", "for owners", world.open_realm, allowed="O")

# Last, for afterwards they are gone.
may("POST /users/me/api_key/regenerate", "one's own", allowed=EVERYONE)
may("DELETE /users/me", "people close their own accounts", world.key_again, PEOPLE)
