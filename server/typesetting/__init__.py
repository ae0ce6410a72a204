"""Typesetting in a separate process, which can be killed in the middle of its work."""
