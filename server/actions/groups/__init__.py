"""Create, change, fill and deactivate user groups."""
