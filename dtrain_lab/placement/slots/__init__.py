"""Slots of machines without a scheduler: who holds them, and which world is next. Pure."""
