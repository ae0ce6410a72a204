"""Process the greeting queue: let bots welcome users that have joined."""

from queue_processors.processor import Processor
from server.actions.greetings import greet
from server.app import App
from server.jobs import Greeting


async def handle(app: App, job: Greeting) -> None:
    await greet(app.realm_services(job.realm_id), job.user_id, job.text, job.inviter_id)


PROCESSOR = Processor(Greeting, handle, database_of=lambda app: app.database)
