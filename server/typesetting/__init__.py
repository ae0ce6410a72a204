"""Typesetting in a separate process, which can be killed in the middle of its work."""

from server.typesetting.process import ProcessTypesetter, open_typesetter

__all__ = ["ProcessTypesetter", "open_typesetter"]
