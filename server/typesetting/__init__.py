"""Typesetting in a process of its own, which can be ended in the middle of its work."""

from server.typesetting.process import ProcessTypesetter, open_typesetter

__all__ = ["ProcessTypesetter", "open_typesetter"]
