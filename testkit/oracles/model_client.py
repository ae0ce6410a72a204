"""A small client: it holds what register answered, and applies events as a real one would.

Its rules are written from the protocol, not from the server: what a client holds after an
event is what the next register would tell it. A part of the state that has no rules here is
not held.
"""

import pickle
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

from testkit.oracles.model_channels import CHANNEL_RULES, CHANNELS_HELD, CHANNELS_SORTED_BY
from testkit.oracles.model_messages import MESSAGE_RULES, MESSAGES_HELD, by_conversation
from testkit.oracles.model_pins import PIN_RULES, PINS_HELD
from testkit.oracles.model_preferences import (
    PREFERENCE_RULES,
    PREFERENCES_HELD,
    PREFERENCES_SORTED_BY,
)
from testkit.oracles.model_presence import (
    PRESENCE_HELD,
    PRESENCE_RULES,
    forget_presence,
    rename_presence,
)
from testkit.oracles.model_topic_descriptions import DESCRIPTION_RULES, DESCRIPTIONS_HELD

State = dict[str, Any]
Rule = Callable[[State, dict[str, Any]], None]

PEOPLE: Final = ("realm_users", "realm_non_active_users", "cross_realm_bots")
FLAGS_OF_ROLES: Final = {"is_owner": 100, "is_admin": 200}


class ModelClient:
    """One client's view of the organization."""

    def __init__(self, registered: State) -> None:
        self.state = held(registered)

    def apply(self, event: dict[str, Any]) -> None:
        """Take the event in; those without rules change nothing that is held."""
        rule = RULES.get(event["type"])
        if rule is not None:
            rule(self.state, event)
        for name, rules in EXTENSIONS.items():
            if name in self.state and event["type"] in rules:
                rules[event["type"]](self.state, event)


def held(registered: State) -> State:
    """The part of register's answer for which there are rules, in an order that means nothing."""
    state: State = _copied(
        {
            name: value
            for name, value in registered.items()
            if name in HELD or name.startswith("realm_")
        }
    )
    if "unread_msgs" in state:
        state["unread_msgs"] = by_conversation(state["unread_msgs"])
    for name, key in SORTED_BY.items():
        if name in state:
            state[name] = sorted(state[name], key=_by(key))
    return state


def _copied(state: State) -> State:
    """A deep copy, in a fraction of the time that `copy.deepcopy` takes."""
    copied: State = pickle.loads(pickle.dumps(state))
    return copied


def _by(key: str | tuple[str, ...]) -> Callable[[dict[str, Any]], Any]:
    return itemgetter(*((key,) if isinstance(key, str) else key))


def people(state: State, event: dict[str, Any]) -> None:
    person = event["person"]
    if event["op"] == "add":
        _add_person(state, person)
    elif event["op"] == "remove":
        known = _take_person(state, person["user_id"])
        forget_presence(state, known)
    else:
        _change_person(state, person)


def _add_person(state: State, person: dict[str, Any]) -> None:
    _take_person(state, person["user_id"])
    kept = {name: value for name, value in person.items() if name != "is_active"}
    if person.get("is_system_bot"):
        state["cross_realm_bots"].append(kept)
    else:
        state["realm_users" if person["is_active"] else "realm_non_active_users"].append(kept)


def _take_person(state: State, user_id: int) -> dict[str, Any] | None:
    for name in PEOPLE:
        for person in state[name]:
            if person["user_id"] == user_id:
                state[name].remove(person)
                return dict(person)
    return None


def _person(state: State, user_id: int) -> dict[str, Any] | None:
    every = (person for name in PEOPLE for person in state[name])
    return next((person for person in every if person["user_id"] == user_id), None)


def _change_person(state: State, change: dict[str, Any]) -> None:
    changes = {name: value for name, value in change.items() if name != "user_id"}
    if "is_active" in changes:
        person = _take_person(state, change["user_id"])
        assert person is not None, "an event names a user unknown to the client"
        if changes.get("is_deleted") is False:
            del changes["is_deleted"]
            person.pop("is_deleted", None)
        _add_person(state, person | changes)
        if not changes["is_active"]:
            forget_presence(state, person)
        return
    if "new_email" in changes:
        changes["email"] = changes.pop("new_email")
        rename_presence(state, _person(state, change["user_id"]), changes["email"])
    if "role" in changes:
        changes |= {flag: changes["role"] <= role for flag, role in FLAGS_OF_ROLES.items()}
        changes["is_guest"] = changes["role"] == 600
    said = changes.pop("custom_profile_field", None)
    for name in PEOPLE:
        for person in state[name]:
            if person["user_id"] == change["user_id"]:
                if said is not None:
                    _change_profile(person["profile_data"], said)
                person |= {n: v for n, v in changes.items() if n in person or n == "is_deleted"}


def _change_profile(profile: dict[str, Any], said: dict[str, Any]) -> None:
    kept = {name: said[name] for name in ("value", "rendered_value") if said.get(name) is not None}
    profile.pop(str(said["id"]), None)
    if kept:
        profile[str(said["id"])] = kept


def profile_fields(state: State, event: dict[str, Any]) -> None:
    state["custom_profile_fields"] = event["fields"]
    there = {str(field["id"]) for field in event["fields"]}
    for name in PEOPLE:
        for person in state[name]:
            for field_id in person.get("profile_data", {}).keys() - there:
                del person["profile_data"][field_id]


def groups(state: State, event: dict[str, Any]) -> None:
    listed = state["realm_user_groups"]
    if event["op"] == "add":
        listed.append(event["group"])
        return
    [group] = [each for each in listed if each["id"] == event["group_id"]]
    if event["op"] == "remove":
        listed.remove(group)
    elif event["op"] == "update":
        group |= event["data"]
    else:
        how, what = event["op"].split("_")
        name, given = {
            "members": ("members", "user_ids"),
            "subgroups": ("direct_subgroup_ids", "direct_subgroup_ids"),
        }[what]
        ids = set(group[name])
        ids = ids | set(event[given]) if how == "add" else ids - set(event[given])
        group[name] = sorted(ids)


def bots(state: State, event: dict[str, Any]) -> None:
    bot = event["bot"]
    listed = state["realm_bots"]
    if event["op"] == "add":
        listed.append(bot)
        return
    [known] = [each for each in listed if each["user_id"] == bot["user_id"]]
    if event["op"] == "delete":
        listed.remove(known)
    else:
        known |= bot


def realm(state: State, event: dict[str, Any]) -> None:
    if event["op"] == "update":
        state[f"realm_{event['property']}"] = event["value"]
    elif event["op"] == "update_dict":
        data = {f"realm_{name}": value for name, value in event["data"].items()}
        data.pop("realm_rendered_description", None)  # register does not have it
        state |= data


def linkifiers(state: State, event: dict[str, Any]) -> None:
    state["realm_linkifiers"] = event["realm_linkifiers"]


def domains(state: State, event: dict[str, Any]) -> None:
    listed = state["realm_domains"]
    if event["op"] == "add":
        listed.append(event["realm_domain"])
        return
    name = event["domain"] if event["op"] == "remove" else event["realm_domain"]["domain"]
    [known] = [each for each in listed if each["domain"] == name]
    if event["op"] == "remove":
        listed.remove(known)
    else:
        known |= event["realm_domain"]


def emoji(state: State, event: dict[str, Any]) -> None:
    state["realm_emoji"] = event["realm_emoji"]


def playgrounds(state: State, event: dict[str, Any]) -> None:
    state["realm_playgrounds"] = event["realm_playgrounds"]


def channel_folders(state: State, event: dict[str, Any]) -> None:
    if event["op"] == "add":
        state["channel_folders"].append(event["channel_folder"])
    elif event["op"] == "reorder":
        for folder in state["channel_folders"]:
            folder["order"] = event["order"].index(folder["id"])
    else:
        [folder] = [e for e in state["channel_folders"] if e["id"] == event["channel_folder_id"]]
        folder |= event["data"]


def alert_words(state: State, event: dict[str, Any]) -> None:
    state["alert_words"] = event["alert_words"]


def message(state: State, event: dict[str, Any]) -> None:
    CHANNEL_RULES["message"](state, event)
    MESSAGE_RULES["message"](state, event)


RULES: Final[dict[str, Rule]] = {
    **CHANNEL_RULES,
    **MESSAGE_RULES,
    "alert_words": alert_words,
    **PREFERENCE_RULES,
    **PRESENCE_RULES,
    "channel_folder": channel_folders,
    "custom_profile_fields": profile_fields,
    "message": message,
    "realm": realm,
    "realm_bot": bots,
    "realm_domains": domains,
    "realm_emoji": emoji,
    "realm_linkifiers": linkifiers,
    "realm_playgrounds": playgrounds,
    "realm_user": people,
    "user_group": groups,
}
"""How an event changes what is held, by the event's type."""

EXTENSIONS: Final[dict[str, Mapping[str, Rule]]] = {
    "pinned_topics": PIN_RULES,
    "topic_descriptions": DESCRIPTION_RULES,
}
"""For clients that hold these, after other rules of an event's type."""

HELD: Final = {
    "alert_words",
    "channel_folders",
    "cross_realm_bots",
    "custom_profile_fields",
    "user_id",
    *CHANNELS_HELD,
    *MESSAGES_HELD,
    *PINS_HELD,
    *DESCRIPTIONS_HELD,
    *PREFERENCES_HELD,
    *PRESENCE_HELD,
}
"""Fields of register that the rules keep up, beside those that begin with `realm_`."""

SORTED_BY: Final[dict[str, Any]] = {
    "topic_descriptions": ("stream_id", "topic"),
    **CHANNELS_SORTED_BY,
    **PREFERENCES_SORTED_BY,
    **dict.fromkeys(PEOPLE, "user_id"),
    "channel_folders": "order",
    "realm_bots": "user_id",
    "realm_user_groups": "id",
}
"""Lists without an order, and what tells their items apart."""
