"""Random requests beside those of histories: settings, drafts, groups, profiles and the like.

They may be refused. They are drawn from what the user's client knows.
"""

import random
from collections.abc import Callable
from typing import Any, Final, get_type_hints

from server.domain.permission_settings import CHANNEL_PERMISSIONS, REALM_PERMISSIONS
from server.domain.user_settings import ONES_OWN, UserSettings
from testkit.rich_realm import REALM

State = dict[str, Any]
Asked = tuple[str, str, dict[str, Any]]
"""Method, path and fields."""
Chore = Callable[["Chores", State], Asked | None]

LATER: Final = 4_000_000_000
WORDS: Final = ("soup", "Größe", "日本語", "ελ.a%2/", "a b")
BOOLEAN_SETTINGS: Final = sorted(n for n, t in get_type_hints(UserSettings).items() if t is bool)
ENDING_QUEUES: Final = frozenset({"waiting_period_threshold"})
"""Settings with which clients register again."""


class Chores:
    """Draws requests of one user at a time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def draw(self, state: State) -> Asked:
        """Return a request of the user with this state, which is a response of register."""
        while True:
            asked = self.rng.choice(_CHORES)(self, state)
            if asked is not None:
                return asked

    def word(self) -> str:
        return f"{self.rng.choice(WORDS)} {self.rng.randrange(1000)}"

    def flip(self) -> bool:
        return self.rng.random() < 0.5

    def one(self, items: Any) -> Any | None:
        items = list(items)
        return self.rng.choice(items) if items else None

    def user_id(self, state: State) -> int:
        return int(self.rng.choice(state["realm_users"])["user_id"])

    def group_id(self, state: State) -> int:
        return int(self.rng.choice(state["realm_user_groups"])["id"])

    def channel_id(self, state: State) -> int | None:
        found = self.one([*state["subscriptions"], *state["never_subscribed"]])
        return None if found is None else found["stream_id"]

    def value(self, state: State) -> Any:
        """A value of a permission."""
        if self.flip():
            return self.group_id(state)
        members = [self.user_id(state), state["user_id"]]
        return {"direct_members": members, "direct_subgroups": [self.group_id(state)]}


def setting(chores: Chores, state: State) -> Asked:
    return "PATCH", "/settings", {chores.rng.choice(BOOLEAN_SETTINGS): chores.flip()}


def own_name(chores: Chores, state: State) -> Asked:
    return "PATCH", "/settings", {"full_name": chores.word()}


def address_visibility(chores: Chores, state: State) -> Asked:
    return "PATCH", "/settings", {"email_address_visibility": chores.rng.choice([1, 2, 3, 4, 5])}


def setting_default(chores: Chores, state: State) -> Asked:
    name = chores.rng.choice([n for n in BOOLEAN_SETTINGS if n not in ONES_OWN])
    return "PATCH", "/realm/user_settings_defaults", {name: chores.flip()}


def realm_setting(chores: Chores, state: State) -> Asked:
    name = chores.rng.choice([n for n in REALM if n not in ENDING_QUEUES])
    value = chores.flip() if isinstance(REALM[name], bool) else REALM[name]
    return "PATCH", "/realm", {name: value}


def realm_permission(chores: Chores, state: State) -> Asked:
    name = chores.rng.choice([n for n in REALM_PERMISSIONS if n != "can_access_all_users_group"])
    return "PATCH", "/realm", {name: {"new": chores.value(state)}}


def announcements(chores: Chores, state: State) -> Asked:
    channel = chores.channel_id(state) or -1
    return "PATCH", "/realm", {"signup_announcements_stream_id": channel}


def draft(chores: Chores, state: State) -> Asked:
    known = chores.one(state["drafts"])
    given = {
        "type": "",
        "to": [],
        "topic": "",
        "content": chores.word(),
        "timestamp": 1_700_000_000,
    }
    if known is None or chores.rng.random() < 0.4:
        return "POST", "/drafts", {"drafts": [given, given | {"content": chores.word()}]}
    if chores.flip():
        return "DELETE", f"/drafts/{known['id']}", {}
    return "PATCH", f"/drafts/{known['id']}", {"draft": given}


def snippet(chores: Chores, state: State) -> Asked:
    known = chores.one(state["saved_snippets"])
    given = {"title": chores.word(), "content": chores.word()}
    if known is None or chores.rng.random() < 0.4:
        return "POST", "/saved_snippets", given
    return chores.rng.choice(["DELETE", "PATCH"]), f"/saved_snippets/{known['id']}", given


def scheduled(chores: Chores, state: State) -> Asked | None:
    known = chores.one(state["scheduled_messages"])
    content = chores.word()
    if known is not None and chores.flip():
        path = f"/scheduled_messages/{known['scheduled_message_id']}"
        return chores.rng.choice(["DELETE", "PATCH"]), path, {"content": content}
    given = {"content": content, "scheduled_delivery_timestamp": LATER}
    channel = chores.channel_id(state)
    if channel is not None and chores.flip():
        place = {"type": "channel", "to": channel, "topic": chores.rng.choice(["", "plans"])}
        return "POST", "/scheduled_messages", place | given
    return "POST", "/scheduled_messages", {"type": "direct", "to": [chores.user_id(state)]} | given


def message_pin(chores: Chores, state: State) -> Asked | None:
    pinned = [i for each in state["pinned_messages"] for i in each["message_ids"]]
    unread = [i for each in state["unread_msgs"]["streams"] for i in each["unread_message_ids"]]
    message_id = chores.one([*pinned, *unread])
    if message_id is None:
        return None
    return chores.rng.choice(["PUT", "PUT", "DELETE"]), f"/messages/{message_id}/pin", {}


def reminder(chores: Chores, state: State) -> Asked:
    known = chores.one(state["reminders"])
    if known is not None and chores.flip():
        return "DELETE", f"/reminders/{known['reminder_id']}", {}
    given = {"note": chores.word(), "scheduled_delivery_timestamp": LATER}
    return "POST", "/reminders", given


def navigation_view(chores: Chores, state: State) -> Asked:
    known = chores.one(state["navigation_views"])
    if known is None or chores.rng.random() < 0.4:
        name = chores.word() if chores.flip() else None
        fragment = "inbox" if name is None else f"narrow/is/{chores.rng.randrange(5)}"
        return "POST", "/navigation_views", {"fragment": fragment, "is_pinned": True, "name": name}
    path = f"/navigation_views/{known['fragment'].replace('/', '%2F')}"
    if chores.flip():
        return "DELETE", path, {}
    return "PATCH", path, {"is_pinned": chores.flip()}


def onboarding_step(chores: Chores, state: State) -> Asked:
    step = chores.rng.choice(["intro_resolve_topic", "visibility_policy_banner"])
    return "POST", "/users/me/onboarding_steps", {"onboarding_step": step}


def alert_words(chores: Chores, state: State) -> Asked:
    method = chores.rng.choice(["POST", "DELETE"])
    return method, "/users/me/alert_words", {"alert_words": [chores.rng.choice(WORDS)]}


def muted_user(chores: Chores, state: State) -> Asked:
    method = chores.rng.choice(["POST", "DELETE"])
    return method, f"/users/me/muted_users/{chores.user_id(state)}", {}


def status(chores: Chores, state: State) -> Asked:
    given: dict[str, Any] = {"status_text": chores.rng.choice(["", "cooking", "Größe"])}
    if chores.flip():
        given |= {"emoji_name": chores.rng.choice(["", "tada"])}
    return "POST", "/users/me/status", given


def ping(chores: Chores, state: State) -> Asked:
    return "POST", "/users/me/presence", {"status": chores.rng.choice(["active", "idle"])}


def group(chores: Chores, state: State) -> Asked:
    own = [g for g in state["realm_user_groups"] if not g["is_system_group"]]
    known = chores.one(own)
    if known is None or chores.rng.random() < 0.15:
        given = {"name": chores.word(), "description": "", "members": [chores.user_id(state)]}
        return "POST", "/user_groups/create", given
    path, how = f"/user_groups/{known['id']}", chores.rng.choice(["add", "delete"])
    choices: list[Asked] = [
        ("POST", f"{path}/members", {how: [chores.user_id(state)]}),
        ("POST", f"{path}/subgroups", {how: [chores.group_id(state)]}),
        ("PATCH", path, {"name": chores.word(), "description": chores.word()}),
        ("PATCH", path, {"can_mention_group": {"new": chores.value(state)}}),
        ("PATCH", path, {"deactivated": False})
        if known["deactivated"]
        else ("POST", f"{path}/deactivate", {}),
    ]
    return chores.rng.choice(choices)


def folder(chores: Chores, state: State) -> Asked:
    known = chores.one(state["channel_folders"])
    if known is None or chores.rng.random() < 0.3:
        return "POST", "/channel_folders/create", {"name": chores.word(), "description": "*soup*"}
    if chores.rng.random() < 0.3:
        order = [each["id"] for each in state["channel_folders"]]
        chores.rng.shuffle(order)
        return "PATCH", "/channel_folders", {"order": order}
    given = {"description": chores.word(), "is_archived": chores.rng.random() < 0.2}
    return "PATCH", f"/channel_folders/{known['id']}", given


def channel(chores: Chores, state: State) -> Asked | None:
    channel_id = chores.channel_id(state)
    if channel_id is None:
        return None
    path = f"/streams/{channel_id}"
    known = chores.one(state["channel_folders"])
    given: list[dict[str, Any]] = [
        {"description": f"*{chores.word()}*"},
        {"new_name": f"channel {chores.word()}"},
        {"folder_id": None if known is None else known["id"]},
        {"topics_policy": chores.rng.choice(["inherit", "allow_empty_topic"])},
        {"message_retention_days": chores.rng.choice([30, "unlimited"])},
        {"is_default_stream": chores.flip()},
        {chores.rng.choice([*CHANNEL_PERMISSIONS]): {"new": chores.value(state)}},
    ]
    return "PATCH", path, chores.rng.choice(given)


def default_channel(chores: Chores, state: State) -> Asked | None:
    channel_id = chores.channel_id(state)
    if channel_id is None:
        return None
    method = chores.rng.choice(["POST", "DELETE"])
    return method, "/default_streams", {"stream_id": channel_id}


def default_channel_group(chores: Chores, state: State) -> Asked | None:
    known = chores.one(state["realm_default_stream_groups"])
    channel = chores.one(state["subscriptions"])
    if known is not None:
        return chores.rng.choice(
            [
                ("DELETE", f"/default_stream_groups/{known['id']}", {}),
                ("PATCH", f"/default_stream_groups/{known['id']}", {"new_description": "new"}),
            ]
        )
    names = [] if channel is None else [channel["name"]]
    given = {"group_name": chores.word(), "description": "", "stream_names": names}
    return "POST", "/default_stream_groups/create", given


def own_subscription(chores: Chores, state: State) -> Asked | None:
    known = chores.one(state["subscriptions"])
    if known is None:
        return None
    name, value = chores.rng.choice(
        [
            ("color", f"#{chores.rng.randrange(100_000, 999_999)}"),
            ("is_muted", chores.flip()),
            ("pin_to_top", chores.flip()),
            ("push_notifications", chores.flip()),
        ]
    )
    data = [{"stream_id": known["stream_id"], "property": name, "value": value}]
    return "POST", "/users/me/subscriptions/properties", {"subscription_data": data}


def person(chores: Chores, state: State) -> Asked:
    path = f"/users/{chores.user_id(state)}"
    roll = chores.rng.random()
    if roll < 0.6:
        return "PATCH", path, {"full_name": chores.word()}
    field = chores.one(state["custom_profile_fields"])
    data = [] if field is None else [{"id": field["id"], "value": chores.word()}]
    return "PATCH", path, {"profile_data": data}


def bot(chores: Chores, state: State) -> Asked:
    known = chores.one(state["realm_bots"])
    if known is None or chores.rng.random() < 0.3:
        given = {"full_name": chores.word(), "short_name": f"b{chores.rng.randrange(10**6)}"}
        return "POST", "/bots", given | {"bot_type": chores.rng.choice([1, 2])}
    if chores.rng.random() < 0.2:
        return "DELETE", f"/bots/{known['user_id']}", {}
    channel = chores.one(state["subscriptions"])
    return chores.rng.choice(
        [
            ("PATCH", f"/bots/{known['user_id']}", {"full_name": chores.word()}),
            ("POST", f"/bots/{known['user_id']}/api_key/regenerate", {}),
            (
                "PATCH",
                f"/bots/{known['user_id']}",
                {"default_sending_stream": "" if channel is None else channel["name"]},
            ),
        ]
    )


def profile_field(chores: Chores, state: State) -> Asked:
    known = chores.one(state["custom_profile_fields"])
    if known is None or chores.rng.random() < 0.3:
        return "POST", "/realm/profile_fields", {"name": chores.word(), "field_type": 1}
    if chores.rng.random() < 0.2:
        return "DELETE", f"/realm/profile_fields/{known['id']}", {}
    return "PATCH", f"/realm/profile_fields/{known['id']}", {"hint": chores.word()}


def profile(chores: Chores, state: State) -> Asked | None:
    known = chores.one(state["custom_profile_fields"])
    if known is None:
        return None
    if chores.rng.random() < 0.3:
        return "DELETE", "/users/me/profile_data", {"data": [known["id"]]}
    data = [{"id": known["id"], "value": f"*{chores.word()}*"}]
    return "PATCH", "/users/me/profile_data", {"data": data}


def linkifier(chores: Chores, state: State) -> Asked:
    known = chores.one(state["realm_linkifiers"])
    given = {
        "pattern": f"{chores.rng.choice('xyz')}(?P<id>[0-9]+)",
        "url_template": "https://example.org/{id}",
    }
    if known is None or chores.flip():
        return "POST", "/realm/filters", given
    return "DELETE", f"/realm/filters/{known['id']}", {}


def playground(chores: Chores, state: State) -> Asked:
    known = chores.one(state["realm_playgrounds"])
    if known is not None and chores.flip():
        return "DELETE", f"/realm/playgrounds/{known['id']}", {}
    given = {"name": chores.word(), "url_template": "https://play.example.com/{code}"}
    return "POST", "/realm/playgrounds", given | {"pygments_language": "Python"}


def domain(chores: Chores, state: State) -> Asked:
    known = chores.one(state["realm_domains"])
    if known is None or chores.rng.random() < 0.4:
        name = f"d{chores.rng.randrange(100)}.example.com"
        return "POST", "/realm/domains", {"domain": name, "allow_subdomains": chores.flip()}
    path = f"/realm/domains/{known['domain']}"
    return chores.rng.choice(["PATCH", "DELETE"]), path, {"allow_subdomains": chores.flip()}


def user_topic(chores: Chores, state: State) -> Asked | None:
    channel_id = chores.channel_id(state)
    if channel_id is None:
        return None
    topic = chores.rng.choice(["plans", "Plans", "Ümlaut", "üMLAUT", ""])
    given = {"topic": topic, "visibility_policy": chores.rng.choice([0, 1, 2, 3])}
    return "POST", "/user_topics", {"stream_id": channel_id, **given}


_CHORES: Final[tuple[Chore, ...]] = (
    *(setting, own_name, address_visibility, setting_default, realm_setting, realm_permission),
    *(announcements, draft, snippet, scheduled, reminder, navigation_view, onboarding_step),
    *(alert_words, muted_user, status, ping, group, folder, channel, default_channel),
    *(default_channel_group, own_subscription, person, bot, profile_field, profile, linkifier),
    *(playground, domain, user_topic, message_pin),
)
