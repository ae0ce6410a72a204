"""Travis CI."""

from typing import Final

from server.integrations.base import (
    BRANCHES,
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
)
from server.integrations.builds import FAILED, STARTED, SUCCEEDED, lasted, stage_of, state_words
from server.integrations.markdown import bold, code, link, paragraphs, text
from server.integrations.repositories import repository_topic
from server.integrations.signatures import KeySignature

EVENTS: Final = ("push", "pull_request", "api", "cron")

_STATES: Final = {
    "pending": STARTED,
    "passed": SUCCEEDED,
    "fixed": f"{SUCCEEDED} again",
    "broken": f"{FAILED}, and succeeded before",
    "still failing": ":cross_mark: still fails",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message: the state of a build."""
    payload = delivery.payload
    event = payload["type"].text("push")
    repository = payload["repository"]["name"].required_text()
    message = payload["status_message"].text() or payload["state"].required_text()
    branch = payload["branch"].text()
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    state = _STATES.get(message.lower()) or state_words(message)
    state += lasted(payload["duration"].number())
    build = link(f"Build #{payload['number'].text()}", payload["build_url"].text())
    commit = link(payload["commit"].text()[:10], payload["compare_url"].text())
    who = bold(payload["author_name"].text())
    number = payload["pull_request_number"].text()
    of = text(f"PR #{number}") if number else code(branch)
    said = f" for commit {commit}{f' by {who}' if who else ''}" if commit else ""
    topic = repository_topic(repository, branch=f"PR #{number}" if number else branch)
    return Message(
        topic,
        f"{build} of {of} {state}{said}.",
        event,
        about=payload["build_url"].text(),
        stage=stage_of(state),
    )


INTEGRATIONS: Final = (
    Integration(
        name="travis",
        display_name="Travis CI",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "In `.travis.yml`, add `notifications: webhooks: urls:` with `{url}` as an item.",
            "Say with `on_success`, `on_failure` and `on_start` beside it what is posted: `always`,"
            " `never` or `change`.",
        ),
        events=EVENTS,
        options=(BRANCHES,),
        has_unique_bodies=True,
        signatures=(KeySignature(header="Signature"),),
        signing_step=(
            "Travis CI signs with a key of its own. Open `https://api.travis-ci.com/config` (or the"
            " API of your own server), and copy `config.notifications.webhook.public_key`, from"
            " `-----BEGIN` to the last `-----`. It proves that Travis CI has sent a delivery, of"
            " any of its repositories: keep the address a secret."
        ),
    ),
)
