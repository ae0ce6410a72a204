"""Operator pages: the state of the installation, and actions on its queues."""

from server.operator.pages import OperatorPages, is_below_root

__all__ = ["OperatorPages", "is_below_root"]
