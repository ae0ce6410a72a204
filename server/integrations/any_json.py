"""JSON of any program, shown as it is or by templates."""

from typing import Any

import orjson

from server.domain import webhook_payloads
from server.domain.webhook_payloads import Said, cut_content
from server.integrations import templates
from server.integrations.markdown import one_line
from server.integrations.payload import Payload


def read_json(body: bytes, topic_template: str | None, text_template: str | None) -> Said:
    """Return the message of any JSON. The templates are valid."""
    shown = webhook_payloads.read_json(body)
    if shown.problem or (topic_template is None and text_template is None):
        return shown
    try:
        decoded: Any = orjson.loads(body)
        payload = Payload(decoded)
        topic, content = None, shown.content
        if topic_template is not None:
            topic = one_line(templates.parse(topic_template).render(payload, plain=True))
        if text_template is not None:
            content = templates.parse(text_template).render(payload).strip()
    except RecursionError:
        return Said(problem="deep")
    return Said(cut_content(content), topic) if content else Said(problem="empty")
