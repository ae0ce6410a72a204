"""Endpoints of custom profile fields, and of the caller's values."""

from typing import Any

from server.actions import profile_data, profile_fields, stepped_work
from server.actions.profile_choices import WITHDRAWING
from server.actions.profile_data import Answers
from server.actions.profile_fields import FieldWish
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.api.profile_answers import AnswerParam, answers_of
from server.domain.profile_fields import MAX_FIELDS, FieldDefinition
from server.events.profile_fields import ShownField, shown_fields
from storage import profile_fields as rows
from storage.ids import ProfileFieldId


class FieldParams(Params):
    field_type: int
    """1 short text, 2 long text, 3 choice, 4 date, 5 link, 6 users, 7 account elsewhere, 8
    pronouns."""
    name: str = ""
    """Name of the field, as users see it."""
    hint: str = ""
    """Hint shown beside the field."""
    field_data: dict[str, Any] = Field(default_factory=dict)
    """For a choice: the choices by key, each with `text` and `order`. For an account elsewhere:
    `subtype`, and `url_pattern` if that is `custom`."""
    required: bool = False
    """Whether clients ask users to fill it in."""
    editable_by_user: bool = True
    """Whether users answer themselves, or only administrators for them."""
    display_in_profile_summary: bool = False
    """Whether the answer is shown in the short profile."""
    use_for_user_matching: bool = False
    """Whether clients find users by their answer when they complete names; for short texts,
    accounts elsewhere and pronouns."""


class OneParams(Params):
    field_id: int
    """Id of the field."""


class ChangeParams(OneParams):
    name: str | None = None
    """New name."""
    hint: str | None = None
    """New hint."""
    field_data: dict[str, Any] | None = None
    """New choices, or the kind of account."""
    required: bool | None = None
    """Whether clients ask users to fill it in."""
    editable_by_user: bool | None = None
    """Whether users answer themselves, or only administrators for them."""
    display_in_profile_summary: bool | None = None
    """Whether the answer is shown in the short profile."""
    use_for_user_matching: bool | None = None
    """Whether clients find users by their answer when they complete names."""


class OrderParams(Params):
    order: list[int]
    """Ids of all fields, in the new order."""


class AnswersParams(Params):
    data: list[AnswerParam] = Field(max_length=MAX_FIELDS)
    """Answers, each with the field's `id` and a `value`."""


class UnsayParams(Params):
    data: list[int] = Field(max_length=MAX_FIELDS)
    """Ids of the fields."""


class FieldsResult(Result):
    custom_fields: list[ShownField]


class IdResult(Result):
    id: int


async def list_all(request: Request, params: NoParams) -> FieldsResult:
    del params
    async with request.read() as connection:
        found = await rows.of_realm(connection, request.actor.realm_id)
    return FieldsResult(custom_fields=shown_fields(found))


async def add(request: Request, params: FieldParams) -> IdResult:
    added = await request.write(profile_fields.add_field, FieldDefinition(**dict(params)))
    return IdResult(id=added)


async def change(request: Request, params: ChangeParams) -> Empty:
    wish = FieldWish(
        name=params.name,
        hint=params.hint,
        field_data=params.field_data,
        required=params.required,
        editable_by_user=params.editable_by_user,
        display_in_profile_summary=params.display_in_profile_summary,
        use_for_user_matching=params.use_for_user_matching,
    )
    field_id = ProfileFieldId(params.field_id)
    work_id = await request.write(profile_fields.change_field, field_id, wish)
    await stepped_work.finish(request.realm_services, WITHDRAWING, work_id)
    return Empty()


async def remove(request: Request, params: OneParams) -> Empty:
    await request.write(profile_fields.remove_field, ProfileFieldId(params.field_id))
    return Empty()


async def order(request: Request, params: OrderParams) -> Empty:
    ids = [ProfileFieldId(each) for each in params.order]
    await request.write(profile_fields.order_fields, ids)
    return Empty()


async def say(request: Request, params: AnswersParams) -> Empty:
    await _change_own(request, answers_of(params.data))
    return Empty()


async def unsay(request: Request, params: UnsayParams) -> Empty:
    await _change_own(request, dict.fromkeys(map(ProfileFieldId, params.data)))
    return Empty()


async def _change_own(request: Request, answers: Answers) -> None:
    request.refuse_bots()
    await request.write(profile_data.change_own_data, answers)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/profile_fields",
        Access.USER,
        NoParams,
        list_all,
        FieldsResult,
        summary="List custom profile fields",
        description="What the organization asks its users, in order.",
    ),
    Endpoint(
        "POST",
        "/realm/profile_fields",
        Access.ADMIN,
        FieldParams,
        add,
        IdResult,
        summary="Create a custom profile field",
    ),
    Endpoint(
        "PATCH",
        "/realm/profile_fields",
        Access.ADMIN,
        OrderParams,
        order,
        summary="Reorder custom profile fields",
    ),
    Endpoint(
        "PATCH",
        "/realm/profile_fields/{field_id}",
        Access.ADMIN,
        ChangeParams,
        change,
        summary="Change a custom profile field",
        description="What is left out stays. Answers with a choice that goes away are removed.",
    ),
    Endpoint(
        "DELETE",
        "/realm/profile_fields/{field_id}",
        Access.ADMIN,
        OneParams,
        remove,
        summary="Delete a custom profile field",
        description="With all answers.",
    ),
    Endpoint(
        "PATCH",
        "/users/me/profile_data",
        Access.USER,
        AnswersParams,
        say,
        summary="Answer custom profile fields",
        description="For the caller's own profile. Other answers stay.",
    ),
    Endpoint(
        "DELETE",
        "/users/me/profile_data",
        Access.USER,
        UnsayParams,
        unsay,
        summary="Remove answers to custom profile fields",
        description="From the caller's own profile.",
    ),
)
