"""Use cases that wire the rooms together and emit events. Nothing is printed here."""
