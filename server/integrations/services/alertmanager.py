"""Prometheus Alertmanager: groups of alerts."""

from typing import Final

from server.integrations.base import Category, Delivery, Integration, Option, Outcome
from server.integrations.services._alert_groups import EVENTS, alert_group
from server.integrations.signatures import PASSWORD

_TOPIC: Final = Option("name", "Annotation or label of alerts that becomes the topic.")
_DESCRIPTION: Final = Option("desc", "Annotation or label of alerts that describes them.")


def read(delivery: Delivery) -> Outcome:
    """Turn a group of alerts into a message."""
    return alert_group(
        delivery.payload,
        topic_from=delivery.options.get(_TOPIC.key, ""),
        description_from=delivery.options.get(_DESCRIPTION.key, ""),
    )


INTEGRATIONS: Final = (
    Integration(
        name="alertmanager",
        display_name="Prometheus Alertmanager",
        category=Category.MONITORING,
        read=read,
        setup=(
            "In `alertmanager.yml`, add a receiver with `webhook_configs`, and in it"
            " `url: {url}`.\n"
            "Name the receiver in a route, and reload Alertmanager.\n"
            "Alerts of a group share a message; the topic is the name of the alert, unless the"
            " address names an annotation or label with `name`."
        ),
        events=EVENTS,
        options=(_TOPIC, _DESCRIPTION),
        signatures=(PASSWORD,),
        signing_step="Beside `url`, add `http_config: {authorization: {credentials: SECRET}}`.",
    ),
)
