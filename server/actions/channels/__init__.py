"""Create, change and archive channels."""
