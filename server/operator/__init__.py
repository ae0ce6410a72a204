"""The operator's pages: how the installation is, and what to do about its queues."""

from server.operator.pages import OperatorPages, is_below_root

__all__ = ["OperatorPages", "is_below_root"]
