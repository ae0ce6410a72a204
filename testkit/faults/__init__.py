"""Fault injection: clients under load, a nemesis, and a checker of what each client received."""
