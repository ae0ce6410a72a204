"""All integrations, by name. Modules of `server/integrations/services` are found by themselves."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

import orjson

from server.integrations import services
from server.integrations.base import Delivery, Integration, Malformed, Outcome
from server.integrations.payload import MalformedPayloadError, Payload

TOO_DEEP: Final = "It is nested too deeply."


@cache
def integrations() -> Mapping[str, Integration]:
    """Return all integrations by name, in the order of their names."""
    modules = [
        import_module(f"{services.__name__}.{each.name}")
        for each in pkgutil.iter_modules(services.__path__)
        if not each.name.startswith("_")
    ]
    found: list[Integration] = [
        integration for module in modules for integration in module.INTEGRATIONS
    ]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


def read_delivery(
    name: str, body: bytes, headers: Mapping[str, str], options: Mapping[str, str]
) -> Outcome:
    """Return the outcome of a delivery to the integration of this name. `body` is JSON."""
    try:
        payload = Payload(orjson.loads(body))
    except orjson.JSONDecodeError:
        return Malformed("It is not valid JSON.")
    try:
        return integrations()[name].read(Delivery(payload, headers, options))
    except MalformedPayloadError as error:
        return Malformed(f"{error}.")
    except RecursionError:
        return Malformed(TOO_DEEP)
