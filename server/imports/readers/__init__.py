"""A module for each program from whose exports Parley imports."""
