"""Declarations of the settings of directories that provision accounts (SCIM)."""

from typing import Annotated

from server.settings.call_settings import CallSettings
from server.settings.descriptions import described
from server.settings.rates import Rate


class ScimSettings(CallSettings, frozen=True, kw_only=True):
    """The settings of directories that provision accounts, beside those of calls."""

    rate_limit_scim: Annotated[Rate, described("requests/seconds, like 1200/60")] = Rate("1200/60")
    """Of all directories of one organization."""
    scim_max_closures: Annotated[int, described("a number from 1 to 100000", ge=1, le=100_000)] = 25
    """How many accounts they may deactivate within an hour: never more than a tenth of the active
    ones, but always three."""
