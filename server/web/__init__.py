"""Pages for people: how they sign in, come in, and look after their account."""

from server.web.site import Site

__all__ = ["Site"]
