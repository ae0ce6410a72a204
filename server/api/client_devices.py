"""Endpoints of client devices. Their push registrations are in push_devices."""

from server.actions import client_devices as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.domain.api_keys import Scope
from storage.ids import PushDeviceId


class ClientDeviceParams(Params):
    device_id: PushDeviceId
    """Id of the device, from `POST /register_client_device`."""


class RegisteredDevice(Result):
    device_id: PushDeviceId
    """Id of the new device."""


async def add(request: Request, params: NoParams) -> RegisteredDevice:
    del params
    request.refuse_bots()
    device_id = await request.write(actions.add_device, now=request.app.clock.now())
    return RegisteredDevice(device_id=device_id)


async def remove(request: Request, params: ClientDeviceParams) -> Empty:
    request.refuse_bots()
    await request.write(actions.remove_device, params.device_id)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/register_client_device",
        Access.USER,
        NoParams,
        add,
        RegisteredDevice,
        scope=Scope.ACCOUNT,
        summary="Register a device of a client",
        description=(
            "Each call registers another device. `POST /mobile_push/register` gives it push"
            " notifications. A user has at most 50 phones: with one more, one without push"
            " notifications is removed, else the oldest."
        ),
    ),
    Endpoint(
        "POST",
        "/remove_client_device",
        Access.USER,
        ClientDeviceParams,
        remove,
        summary="Remove a device of a client",
        description="It gets no more push notifications, and its key is deleted.",
    ),
)
