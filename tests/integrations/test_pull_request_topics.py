"""Pull requests have topics of their own, or one of their repository: as the address says."""

import json
import re

import pytest

from server.integrations.base import PULL_REQUEST_TOPICS, Message
from server.integrations.registry import integrations
from testkit.integration_samples import SAMPLES, outcome_of

OWN_TOPIC = re.compile(r"(?P<repository>.+) / (?:PR #|MR !)\d+ ")
HOSTS = [name for name, each in integrations().items() if PULL_REQUEST_TOPICS in each.options]


def topics_of(service: str, value: str) -> list[str]:
    """Return the topics of all messages of the service's samples, with this value of the option."""
    outcomes = (
        outcome_of(
            service,
            {**sample, "options": {**sample.get("options", {}), PULL_REQUEST_TOPICS.key: value}},
        )
        for path in sorted((SAMPLES / service).glob("*.json"))
        if path.name != "headers.json" and (sample := json.loads(path.read_text()))
    )
    return [each.topic for each in outcomes if isinstance(each, Message)]


def test_all_hosts_of_repositories_have_the_option():
    assert set(HOSTS) == {
        *("azuredevops", "bitbucket2", "bitbucket3", "forgejo", "gitea", "github", "gitlab", "gogs")
    }


@pytest.mark.parametrize("service", HOSTS)
def test_pull_requests_of_a_repository_share_a_topic_if_asked(service: str):
    noun = "merge requests" if service == "gitlab" else "pull requests"
    own, shared = topics_of(service, "True"), topics_of(service, "False")
    found = [OWN_TOPIC.match(topic) for topic in own]
    assert any(found)
    assert shared == [
        f"{each['repository']} / {noun}" if each else topic
        for each, topic in zip(found, own, strict=True)
    ]
