"""Process the link preview queue: fetch the linked pages of a message and add previews."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from queue_processors.processor import Processor
from server.actions.messages.previews import show_previews
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.markdown.previews import links_to_preview, preview, with_previews
from server.jobs import EmbedLinks, outgoing
from server.messaging.job_broker import JobPublisher
from server.previews import Previews
from storage import message_previews
from storage.database import Database
from storage.ids import MessageId, RealmId


@dataclass(frozen=True, slots=True)
class Embedder:
    services: RealmServices
    previews: Previews

    async def handle(self, job: EmbedLinks) -> None:
        """Fetch the pages, then update the message unless its content has changed meanwhile."""
        services, message_id = self.services, job.message_id
        async with services.read() as connection:
            row = await message_previews.current(connection, services.realm_id, message_id)
        if row is None:
            return
        own = (await services.realm_cache.address()).host
        links = [link for link in links_to_preview(row.content) if _host(link) != own]
        pages = await asyncio.gather(*map(self.previews.page, links))
        proxy = services.realm_cache.rendering.proxy
        drawn = [
            preview(link, page.image, page.title, page.description, proxy)
            for link, page in zip(links, pages, strict=True)
        ]
        shown = [each for each in drawn if each is not None]
        if with_previews(row.rendered_content, shown) == row.rendered_content:
            return
        content, now = row.content, services.clock.now()
        await services.write(lambda tx: show_previews(tx, message_id, content, shown, now))


def _host(link: str) -> str:
    try:
        return urlsplit(link).netloc.lower()
    except ValueError:
        return ""


async def ask_for_previews(
    database: Database, broker: JobPublisher, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> None:
    """Enqueue the messages with links, where previews are enabled."""
    async with database.connection() as connection:
        wanting = await message_previews.wanting(connection, realm_id, message_ids)
    if wanting:
        await broker.publish(
            *(
                outgoing(
                    EmbedLinks(realm_id=realm_id, message_id=message_id),
                    key=f"{message_id}",
                )
                for message_id in wanting
            )
        )


async def handle(app: App, job: EmbedLinks) -> None:
    if app.settings.link_previews:
        await Embedder(app.uncached_realm_services(job.realm_id), app.previews).handle(job)


PROCESSOR = Processor(EmbedLinks, handle, prefetch=20)
