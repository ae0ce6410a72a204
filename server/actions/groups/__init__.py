"""User groups are made, changed, filled, emptied and closed."""
