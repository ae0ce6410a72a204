"""What linked pages say of themselves."""

from server.previews.fetching import Previews

__all__ = ["Previews"]
