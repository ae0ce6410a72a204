"""Reminders over HTTP."""

from typing import Annotated

from server.actions import reminders as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.clock import LAST_SECOND
from server.domain.errors import BadRequestError
from server.events.reminders import ShownReminder
from storage import reminders
from storage.ids import MessageId, ReminderId


class CreateParams(Params):
    message_id: MessageId | None = None
    note: str = ""
    scheduled_delivery_timestamp: Annotated[int | None, Field(le=LAST_SECOND)] = None


class ReminderParams(Params):
    reminder_id: ReminderId


class Reminders(Result):
    reminders: list[ShownReminder]


class CreatedReminder(Result):
    reminder_id: int


async def get_all(request: Request, params: NoParams) -> Reminders:
    del params
    actor = request.actor
    async with request.read() as connection:
        rows = await reminders.of_user(connection, actor.realm_id, actor.user_id)
    return Reminders(reminders=[ShownReminder.of(row) for row in rows])


async def create(request: Request, params: CreateParams) -> CreatedReminder:
    if params.scheduled_delivery_timestamp is None:
        raise BadRequestError("Say when: scheduled_delivery_timestamp is missing.")
    entry = await request.write(
        actions.set_reminder,
        params.message_id,
        params.note,
        params.scheduled_delivery_timestamp,
        request.app.clock.now(),
    )
    return CreatedReminder(reminder_id=entry.position)


async def delete(request: Request, params: ReminderParams) -> Empty:
    await request.write(actions.delete_reminder, params.reminder_id)
    return Empty()


ENDPOINTS = (
    Endpoint("GET", "/reminders", Access.USER, NoParams, get_all, Reminders),
    Endpoint(
        "POST",
        "/reminders",
        Access.USER,
        CreateParams,
        create,
        CreatedReminder,
        scope=Scope.MESSAGES,
    ),
    Endpoint(
        "DELETE",
        "/reminders/{reminder_id}",
        Access.USER,
        ReminderParams,
        delete,
        scope=Scope.MESSAGES,
    ),
)
