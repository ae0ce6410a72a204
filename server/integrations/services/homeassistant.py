"""Home Assistant: notifications of automations."""

from typing import Final

from server.integrations.base import Category, Delivery, Integration, Message, Outcome
from server.integrations.markdown import MAX_CODE, bold, cut, one_line, paragraphs, without_mentions
from server.integrations.signatures import PASSWORD


def read(delivery: Delivery) -> Outcome:
    """Turn a notification into a message. Its text is Markdown."""
    payload = delivery.payload
    message, title = payload["message"].required_text(), payload["title"].text()
    topic = payload["topic"].text()
    content = paragraphs(
        bold(title) if topic and title else "", without_mentions(cut(message, MAX_CODE))
    )
    return Message(one_line(topic or title or "Home Assistant"), content)


INTEGRATIONS: Final = (
    Integration(
        name="homeassistant",
        display_name="Home Assistant",
        category=Category.AUTOMATION,
        read=read,
        setup=(
            "In `configuration.yaml`, add to `notify` an entry with `platform: rest`,"
            " `name: chat`, `method: POST_JSON`, `title_param_name: title` and"
            " `resource: {url}`.\n"
            "Restart Home Assistant, and call the action `notify.chat` in automations. The title of"
            " a notification becomes the topic; `data` may have another `topic`."
        ),
        signatures=(PASSWORD,),
        signing_step="Add `username: bot` and `password: SECRET` to the entry.",
    ),
)
