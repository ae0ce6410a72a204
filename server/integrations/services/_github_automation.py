"""What GitHub says of workflows and checks, and of the security of repositories."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from server.integrations import alerts
from server.integrations.base import Delivery, Ignored, Message, Outcome, Stage, Unknown
from server.integrations.builds import state_words
from server.integrations.markdown import bold, code, link, one_line, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted, repository_topic
from server.integrations.services._github_threads import about_repository, repository, sender

COMPLETED: Final = "completed"


# -- workflows and checks


def workflow_run(delivery: Delivery, event: str) -> Outcome:
    """Read a run of a workflow. Its end alone is posted."""
    payload = delivery.payload
    run = payload["workflow_run"].required()
    if payload["action"].text(COMPLETED) != COMPLETED:
        return Ignored(event, "The workflow has not been completed.")
    name = run["name"].text() or payload["workflow"]["name"].text("Workflow")
    number = run["run_number"].text()
    shown = link(f"{name} #{number}" if number else name, run["html_url"].text())
    attempt = run["run_attempt"].integer()
    again = f" (attempt {attempt})" if attempt > 1 else ""
    return _ended(delivery, event, run, f"Workflow {shown}{again}", run["head_branch"].text())


def workflow_job(delivery: Delivery, event: str) -> Outcome:
    """Read a job of a workflow. Its end alone is posted."""
    payload = delivery.payload
    job = payload["workflow_job"].required()
    if payload["action"].text(COMPLETED) != COMPLETED:
        return Ignored(event, "The job has not been completed.")
    shown = link(job["name"].text("a job"), job["html_url"].text())
    workflow = job["workflow_name"].text()
    of = f" of workflow {bold(workflow)}" if workflow else ""
    return _ended(delivery, event, job, f"Job {shown}{of}", job["head_branch"].text())


def check_suite(delivery: Delivery, event: str) -> Outcome:
    """Read the checks of one app. Their end alone is posted."""
    payload = delivery.payload
    suite = payload["check_suite"].required()
    if payload["action"].text(COMPLETED) != COMPLETED:
        return Ignored(event, "The checks have not been completed.")
    app = suite["app"]["name"].text()
    what = f"The check suite of {bold(app)}" if app else "A check suite"
    return _ended(delivery, event, suite, what, suite["head_branch"].text())


def _ended(delivery: Delivery, event: str, run: Payload, what: str, branch: str) -> Outcome:
    """Say how a run has ended, in the topic of its branch."""
    payload = delivery.payload
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    state = state_words(run["conclusion"].text(COMPLETED))
    sha = run["head_sha"].text()
    commit = link(sha[:10], f"{payload['repository']['html_url'].text()}/commit/{sha}")
    of = f" of {code(branch)}" if branch else ""
    content = f"{what}{of} {state}{f' for commit {commit}' if sha else ''}."
    return Message(repository_topic(repository(payload), branch=branch), content, event)


def deployment_review(delivery: Delivery, event: str) -> Outcome:
    """Read that a deployment waits for a review, or was reviewed."""
    payload = delivery.payload
    action = payload["action"].required_text()
    run = payload["workflow_run"]
    shown = link(run["name"].text("a workflow"), run["html_url"].text())
    where = code(payload["environment"].text())
    of = f"of {shown}{f' to {where}' if where else ''}"
    if action == "requested":
        return about_repository(payload, event, f"A deployment {of} waits for a review.")
    if action not in ("approved", "rejected"):
        return Unknown(f"{event}.{action}")
    who = payload["approver"]["login"].text() or sender(payload)
    content = acted(who, f"{action} a deployment", of, body=payload["comment"].text())
    return about_repository(payload, event, content)


# -- security


_Said = tuple[str, str]
"""The mark and the word of what happened to an alert."""
_OPENED: Final[_Said] = (alerts.FIRING, "New")
_REOPENED: Final[_Said] = (alerts.FIRING, "Reopened")
_FIXED: Final[_Said] = (alerts.RESOLVED, "Fixed")
_DISMISSED: Final[_Said] = (alerts.RESOLVED, "Dismissed")

_ACTIONS: Final[Mapping[str, _Said]] = {
    **dict.fromkeys(("created", "create", "appeared_in_branch"), _OPENED),
    **dict.fromkeys(("reopened", "reopened_by_user", "auto_reopened"), _REOPENED),
    "reintroduced": (alerts.FIRING, "Reintroduced"),
    "publicly_leaked": (alerts.FIRING, "Publicly leaked"),
    **dict.fromkeys(("fixed", "resolve"), _FIXED),
    "resolved": (alerts.RESOLVED, "Resolved"),
    **dict.fromkeys(("dismissed", "dismiss", "closed_by_user", "auto_dismissed"), _DISMISSED),
}
_STAGES: Final = {alerts.FIRING: Stage.FIRING, alerts.RESOLVED: Stage.RESOLVED}

_Facts = tuple[str, str, list[tuple[str, str]]]
"""Title, severity, and named values in Markdown."""


def _dependency(alert: Payload) -> _Facts:
    advisory, vulnerability = alert["security_advisory"], alert["security_vulnerability"]
    package = vulnerability["package"] or alert["dependency"]["package"]
    facts = [
        ("Package", code(package["name"].text())),
        ("Affected", code(vulnerability["vulnerable_version_range"].text())),
        ("Fixed in", code(vulnerability["first_patched_version"]["identifier"].text())),
        ("In", code(alert["dependency"]["manifest_path"].text())),
        ("Advisory", text(advisory["cve_id"].text() or advisory["ghsa_id"].text())),
    ]
    severity = advisory["severity"].text() or vulnerability["severity"].text()
    title = advisory["summary"].text() or f"Vulnerability in {package['name'].text('a package')}"
    return title, severity, facts


def _scan(alert: Payload) -> _Facts:
    rule, instance = alert["rule"], alert["most_recent_instance"]
    place, line = instance["location"]["path"].text(), instance["location"]["start_line"].text()
    facts = [
        ("In", code(f"{place}:{line}" if place and line else place)),
        ("Branch", code(instance["ref"].text().removeprefix("refs/heads/"))),
        ("Tool", text(alert["tool"]["name"].text())),
    ]
    severity = rule.first("security_severity_level", "severity").text()
    return rule.first("description", "name", "id").text("Code scanning alert"), severity, facts


def _secret(alert: Payload) -> _Facts:
    kind = alert.first("secret_type_display_name", "secret_type").text("a secret")
    facts = [
        ("Validity", text(alert["validity"].text())),
        ("Resolution", text(alert["resolution"].text().replace("_", " "))),
    ]
    return f"Secret in the repository: {kind}", "", facts


def _vulnerability(alert: Payload) -> _Facts:
    package = alert["affected_package_name"].text("a package")
    facts = [
        ("Affected", code(alert["affected_range"].text())),
        ("Fixed in", code(alert["fixed_in"].text())),
        ("Advisory", text(alert.first("external_identifier", "ghsa_id").text())),
    ]
    return f"Vulnerability in {package}", alert["severity"].text(), facts


_FACTS: Final[Mapping[str, Callable[[Payload], _Facts]]] = {
    "dependabot_alert": _dependency,
    "code_scanning_alert": _scan,
    "secret_scanning_alert": _secret,
    "repository_vulnerability_alert": _vulnerability,
}


def security_alert(delivery: Delivery, event: str) -> Outcome:
    """Read what happened to an alert about a dependency, the code, or a secret in it."""
    payload = delivery.payload
    action, alert = payload["action"].required_text(), payload["alert"].required()
    said = _ACTIONS.get(action)
    if said is None:
        return Unknown(f"{event}.{action}")
    mark, word = said
    title, severity, facts = _FACTS[event](alert)
    url = alert.first("html_url", "external_reference").text()
    who = sender(payload) if mark == alerts.RESOLVED and word != "Fixed" else ""
    first = alerts.state(mark, word, link(title, url), severity=severity)
    number = alert.first("number", "id").text()
    name = repository(payload)
    return Message(
        f"{name} / alert #{number} {one_line(title)}" if number else name,
        paragraphs(f"{first}{f', by {bold(who)}' if who else ''}", alerts.facts(*facts)),
        event,
        about=f"{event} {name} {number}" if number else "",
        stage=_STAGES[mark],
    )


def repository_advisory(delivery: Delivery, event: str) -> Outcome:
    """Read that an advisory was reported, or published."""
    payload = delivery.payload
    action, advisory = payload["action"].required_text(), payload["repository_advisory"].required()
    if action not in ("published", "reported"):
        return Unknown(f"{event}.{action}")
    shown = link(advisory["summary"].text("an advisory"), advisory["html_url"].text())
    facts = alerts.facts(
        ("Severity", text(advisory["severity"].text())),
        ("Advisory", text(advisory.first("cve_id", "ghsa_id").text())),
    )
    verb = f"{action} the security advisory"
    message = about_repository(payload, event, acted(sender(payload), verb, shown))
    return replace(message, content=paragraphs(message.content, facts))


EVENTS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    "check_suite": check_suite,
    "deployment_review": deployment_review,
    "repository_advisory": repository_advisory,
    "workflow_job": workflow_job,
    "workflow_run": workflow_run,
    **dict.fromkeys(_FACTS, security_alert),
}
