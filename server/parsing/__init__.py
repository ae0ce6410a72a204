"""Parsing of what strangers send, in processes of their own that a time limit may end."""

from server.parsing.lane import Lane, ParserUnavailableError, TooCostlyError
from server.parsing.parser import Parser, open_parser

__all__ = ["Lane", "Parser", "ParserUnavailableError", "TooCostlyError", "open_parser"]
