"""The site: pages to sign in, to join, to read messages and to manage an account."""

from server.web.site import Site

__all__ = ["Site"]
