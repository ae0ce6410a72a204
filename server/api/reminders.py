"""Endpoints of reminders."""

from typing import Annotated

from server.actions import reminders as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.clock import LAST_SECOND
from server.domain.errors import BadRequestError
from server.events.reminders import ShownReminder
from server.i18n import _
from storage import reminders
from storage.ids import MessageId, ReminderId


class CreateParams(Params):
    message_id: MessageId | None = None
    """Id of the message to be reminded of."""
    note: str = ""
    """Note that the reminder shows."""
    scheduled_delivery_timestamp: Annotated[int | None, Field(le=LAST_SECOND)] = None
    """When, as a Unix time in seconds. Required, and in the future."""


class ReminderParams(Params):
    reminder_id: ReminderId
    """Id of the reminder."""


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
        raise BadRequestError(_("Say when: scheduled_delivery_timestamp is missing."))
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
    Endpoint(
        "GET",
        "/reminders",
        Access.USER,
        NoParams,
        get_all,
        Reminders,
        summary="List your reminders",
        description="Those that are still to come.",
    ),
    Endpoint(
        "POST",
        "/reminders",
        Access.USER,
        CreateParams,
        create,
        CreatedReminder,
        scope=Scope.MESSAGES,
        summary="Set a reminder",
        description="At that time the caller gets a direct message about the message.",
    ),
    Endpoint(
        "DELETE",
        "/reminders/{reminder_id}",
        Access.USER,
        ReminderParams,
        delete,
        scope=Scope.MESSAGES,
        summary="Delete a reminder",
    ),
)
