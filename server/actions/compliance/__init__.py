"""Compliance officers, and the cases in which they search all messages."""
