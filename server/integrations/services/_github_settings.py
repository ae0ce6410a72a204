"""What GitHub says of the settings of repositories and organizations."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.base import Delivery, Ignored, Message, Outcome, Unknown
from server.integrations.markdown import bold, code, link, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted, repository_topic
from server.integrations.services._github_threads import about_repository, sender

_VERBS: Final = {"created": "created", "edited": "changed", "deleted": "deleted"}
_QUIET: Final = (
    *("branch_protection_configuration", "custom_property", "custom_property_values"),
    *("deployment_protection_rule", "github_app_authorization", "installation"),
    *("installation_repositories", "installation_target", "marketplace_purchase"),
    *("merge_queue_entry", "org_block", "personal_access_token_request", "project"),
    *("project_card", "project_column", "projects_v2", "projects_v2_item"),
    *("projects_v2_status_update", "repository_dispatch", "repository_import"),
    *("secret_scanning_alert_location", "secret_scanning_scan", "security_advisory"),
    *("security_and_analysis", "workflow_dispatch"),
)
"""Events of which there is nothing to say, since they are of apps, or others say more."""


def quiet(delivery: Delivery, event: str) -> Outcome:
    """Ignore an event."""
    del delivery
    return Ignored(event, f"Nothing is said of {event}.")


def label(delivery: Delivery, event: str) -> Outcome:
    """Read that a label of a repository was made, changed or deleted."""
    payload = delivery.payload
    action, name = payload["action"].required_text(), payload["label"]["name"].required_text()
    before = payload["changes"]["name"]["from"].text()
    if action == "edited" and before:
        content = acted(
            sender(payload), "renamed the label", code(before), extra=f"to {code(name)}"
        )
        return about_repository(payload, event, content)
    return _changed(payload, event, f"the label {code(name)}")


def branch_protection_rule(delivery: Delivery, event: str) -> Outcome:
    """Read that a rule for branches was made, changed or deleted."""
    name = delivery.payload["rule"]["name"].required_text()
    return _changed(delivery.payload, event, f"the protection of the branch {code(name)}")


def repository_ruleset(delivery: Delivery, event: str) -> Outcome:
    """Read that a set of rules of a repository or an organization was made, changed or deleted."""
    rules = delivery.payload["repository_ruleset"].required()
    shown = link(rules["name"].required_text(), rules["_links"]["html"]["href"].text())
    return _changed(delivery.payload, event, f"the ruleset {shown}")


def deploy_key(delivery: Delivery, event: str) -> Outcome:
    """Read that a key for deployments was added to a repository, or removed."""
    key = delivery.payload["key"].required()
    access = "read" if key["read_only"].flag() else "read and write"
    shown = f"the deploy key {code(key['title'].text())}, which can {access}"
    return _changed(delivery.payload, event, shown)


def _changed(payload: Payload, event: str, what: str) -> Outcome:
    """Say who changed a setting. `what` is Markdown."""
    action = payload["action"].required_text()
    if action not in _VERBS:
        return Unknown(f"{event}.{action}")
    content = acted(sender(payload), _VERBS[action], what)
    if payload["repository"]:
        return about_repository(payload, event, content)
    return Message(payload["organization"]["login"].required_text(), content, event)


def organization(delivery: Delivery, event: str) -> Outcome:
    """Read that someone joined or left an organization, or that it was renamed or deleted."""
    payload = delivery.payload
    action, name = payload["action"].required_text(), payload["organization"]["login"].text()
    of = f"the organization {bold(name)}"
    member = payload["membership"]["user"]
    person = link(member["login"].text("a user"), member["html_url"].text())
    invited = payload["invitation"].first("login", "email").text("a user")
    said = {
        "member_added": ("added", person, f"to {of}"),
        "member_removed": ("removed", person, f"from {of}"),
        "member_invited": ("invited", text(invited), f"to {of}"),
        "renamed": ("renamed", of, f"from {code(payload['changes']['login']['from'].text())}"),
        "deleted": ("deleted", of, ""),
    }
    if action not in said:
        return Unknown(f"{event}.{action}")
    verb, what, extra = said[action]
    topic = repository_topic(name or "GitHub")
    return Message(topic, acted(sender(payload), verb, what, extra=extra), event)


def meta(delivery: Delivery, event: str) -> Outcome:
    """Read that the webhook itself was deleted."""
    payload = delivery.payload
    where = payload["repository"]["name"].text() or payload["organization"]["login"].text("GitHub")
    return Message(where, acted(sender(payload), "deleted", "this webhook"), event)


EVENTS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    "branch_protection_rule": branch_protection_rule,
    "deploy_key": deploy_key,
    "label": label,
    "meta": meta,
    "organization": organization,
    "repository_ruleset": repository_ruleset,
}
QUIET: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = dict.fromkeys(_QUIET, quiet)
