"""Faults on purpose: clients under load, a nemesis, and a checker that knows what each must see."""
