"""Parsing of what strangers send, in processes of their own that a time limit may end."""

from server.parsing.parser import (
    Parser,
    ParserUnavailableError,
    TooCostlyError,
    open_parser,
)

__all__ = ["Parser", "ParserUnavailableError", "TooCostlyError", "open_parser"]
