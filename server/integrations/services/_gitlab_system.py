"""Members, groups, projects and accounts: of GitLab's system hooks and group webhooks."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.base import Delivery, Ignored, Message, Outcome
from server.integrations.markdown import bold, code, text
from server.integrations.payload import Payload

ADMINISTRATION: Final = "GitLab"
"""The topic of what concerns no project or group."""

_Sentence = Callable[[Payload], str]


def _member(payload: Payload) -> str:
    return bold(payload.first("user_name", "user_username").text("Someone"))


def _project(payload: Payload) -> str:
    return code(payload.first("project_path_with_namespace", "path_with_namespace", "name").text())


def _group(payload: Payload) -> str:
    return code(payload.first("group_path", "full_path", "path", "name").text())


def _access(payload: Payload, key: str) -> str:
    level = text(payload[key].text())
    return f" as {level}" if level else ""


def _user(payload: Payload) -> str:
    return bold(payload.first("name", "username").text("Someone"))


_OF_GROUPS: Final[Mapping[str, _Sentence]] = {
    "user_add_to_group": lambda each: (
        f"{_member(each)} was added to the group {_group(each)}{_access(each, 'group_access')}."
    ),
    "user_remove_from_group": lambda each: (
        f"{_member(each)} was removed from the group {_group(each)}."
    ),
    "user_update_for_group": lambda each: (
        f"{_member(each)} is now in the group {_group(each)}{_access(each, 'group_access')}."
    ),
    "user_access_request_to_group": lambda each: (
        f"{_member(each)} asks for access to the group {_group(each)}."
    ),
    "user_access_request_denied_for_group": lambda each: (
        f"{_member(each)} was denied access to the group {_group(each)}."
    ),
    "group_create": lambda each: f"The group {_group(each)} was created.",
    "group_destroy": lambda each: f"The group {_group(each)} was deleted.",
    "group_rename": lambda each: (
        f"The group {code(each['old_full_path'].text())} was renamed to {_group(each)}."
    ),
    "subgroup_create": lambda each: f"The subgroup {_group(each)} was created.",
    "subgroup_destroy": lambda each: f"The subgroup {_group(each)} was deleted.",
}
_OF_PROJECTS: Final[Mapping[str, _Sentence]] = {
    "project_create": lambda each: f"The project {_project(each)} was created.",
    "project_destroy": lambda each: f"The project {_project(each)} was deleted.",
    "project_rename": lambda each: (
        f"The project {code(each['old_path_with_namespace'].text())}"
        f" was renamed to {_project(each)}."
    ),
    "project_transfer": lambda each: (
        f"The project {code(each['old_path_with_namespace'].text())} is now {_project(each)}."
    ),
    "user_add_to_team": lambda each: (
        f"{_member(each)} was added to the project {_project(each)}{_access(each, 'access_level')}."
    ),
    "user_remove_from_team": lambda each: (
        f"{_member(each)} was removed from the project {_project(each)}."
    ),
    "user_update_for_team": lambda each: (
        f"{_member(each)} is now in the project {_project(each)}{_access(each, 'access_level')}."
    ),
    "user_access_request_to_project": lambda each: (
        f"{_member(each)} asks for access to the project {_project(each)}."
    ),
    "user_access_request_denied_for_project": lambda each: (
        f"{_member(each)} was denied access to the project {_project(each)}."
    ),
}
_OF_ACCOUNTS: Final[Mapping[str, _Sentence]] = {
    "user_create": lambda each: f"The account of {_user(each)} was created.",
    "user_destroy": lambda each: f"The account of {_user(each)} was deleted.",
    "user_rename": lambda each: (
        f"{_user(each)} changed the username from {code(each['old_username'].text())}"
        f" to {code(each['username'].text())}."
    ),
    "user_failed_login": lambda each: (
        f"{_user(each)} could not log in: the account is {text(each['state'].text('blocked'))}."
    ),
    "key_create": lambda each: f"{_user(each)} added an SSH key.",
    "key_destroy": lambda each: f"{_user(each)} removed an SSH key.",
}
_QUIET: Final = ("project_update", "repository_update", "gitlab_subscription_member_approval")

EVENTS: Final = (*_OF_GROUPS, *_OF_PROJECTS, *_OF_ACCOUNTS, *_QUIET)


def read(delivery: Delivery, event: str) -> Outcome:
    """Read an event of `EVENTS`."""
    payload = delivery.payload
    if event in _OF_GROUPS:
        topic = payload.first("group_name", "name").required_text()
        return Message(topic, _OF_GROUPS[event](payload), event)
    if event in _OF_PROJECTS:
        topic = payload.first("project_name", "name").required_text()
        return Message(topic, _OF_PROJECTS[event](payload), event)
    if event in _OF_ACCOUNTS:
        payload.first("username", "name").required_text()
        return Message(ADMINISTRATION, _OF_ACCOUNTS[event](payload), event)
    return Ignored(event, "Nothing is said of what other events say.")
