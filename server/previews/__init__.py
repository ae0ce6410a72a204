"""What linked pages say of themselves, and the pictures of others that messages show."""

from server.previews.fetching import Previews
from server.previews.pictures import LinkedPictures

__all__ = ["LinkedPictures", "Previews"]
