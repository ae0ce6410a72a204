"""Register's bots that the user may manage, and the kinds of bots."""

from typing import Any, Final, TypedDict

from server.domain.api_keys import Scope
from server.domain.bots import OUTGOING_WEBHOOK, looks_after
from server.domain.channels import Standing
from server.domain.incoming_webhooks import INCOMING_WEBHOOKS
from server.events.bot_defaults import visible_to
from server.events.bots import Bot, shown_bot
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.people import people_of
from server.integrations.registry import integrations
from storage import bots


class IncomingWebhookKind(TypedDict):
    """An incoming webhook that the server understands."""

    name: str
    display_name: str
    all_event_types: list[str] | None
    config_options: list[Any]
    url_options: list[Any]


class EmbeddedBotKind(TypedDict):
    name: str
    config: dict[str, str]


class BotFields(TypedDict):
    realm_bots: list[Bot]
    """Those that the user may manage."""


class IncomingWebhookFields(TypedDict):
    realm_incoming_webhook_bots: list[IncomingWebhookKind]


class EmbeddedBotFields(TypedDict):
    realm_embedded_bots: list[EmbeddedBotKind]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    actor = snapshot.actor
    rows = (await people_of(snapshot)).bots.values()
    knows_secrets = actor.reaches(Scope.EVERYTHING)
    own = [row for row in rows if knows_secrets and looks_after(actor.person, row)]
    called = [row.user_id for row in own if row.bot_type == OUTGOING_WEBHOOK]
    services = await bots.services(snapshot.connection, snapshot.realm_id, called) if called else {}
    if not own:
        return {"realm_bots": []}
    rows_of = await bots.defaults(
        snapshot.connection, snapshot.realm_id, [row.user_id for row in own]
    )
    standing = Standing(actor.person, snapshot.graph, snapshot.settings)
    defaults = await visible_to(snapshot.connection, snapshot.realm_id, standing, rows_of.values())
    return {
        "realm_bots": [
            shown_bot(row, services.get(row.user_id), defaults[row.user_id]) for row in own
        ]
    }


async def fetch_incoming_webhooks(_: Snapshot) -> dict[str, Any]:
    shown = [each.wire() for each in INCOMING_WEBHOOKS]
    shown += [each.wire() for each in integrations().values()]
    return {"realm_incoming_webhook_bots": shown}


async def fetch_embedded(_: Snapshot) -> dict[str, Any]:
    """Return an empty list: no bot runs inside the server."""
    return {"realm_embedded_bots": []}


SECTIONS: Final = (
    StateSection("realm_bot", fetch, (BotFields,)),
    StateSection("realm_incoming_webhook_bots", fetch_incoming_webhooks, (IncomingWebhookFields,)),
    StateSection("realm_embedded_bots", fetch_embedded, (EmbeddedBotFields,)),
)
