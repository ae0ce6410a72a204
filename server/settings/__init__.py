"""Settings: one frozen object, read from the environment or one TOML file."""

from server.settings.declared import Settings
from server.settings.rates import Rate, Rates
from server.settings.reading import (
    SettingsError,
    default_data_directory,
    load_settings,
    load_with_sources,
    names_data_directory,
    state_directory,
    text_of,
    unused_variables,
    variable_of,
)

__all__ = (
    "Rate",
    "Rates",
    "Settings",
    "SettingsError",
    "default_data_directory",
    "load_settings",
    "load_with_sources",
    "names_data_directory",
    "state_directory",
    "text_of",
    "unused_variables",
    "variable_of",
)
