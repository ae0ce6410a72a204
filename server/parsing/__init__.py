"""Parse untrusted content in separate processes with a timeout."""

from server.parsing.lane import Lane, ParserUnavailableError, TooCostlyError
from server.parsing.parser import Parser, open_parser

__all__ = ["Lane", "Parser", "ParserUnavailableError", "TooCostlyError", "open_parser"]
