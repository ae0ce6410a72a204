"""Previews of linked pages, and the image proxy."""

from server.previews.fetching import Previews
from server.previews.pictures import LinkedPictures

__all__ = ["LinkedPictures", "Previews"]
