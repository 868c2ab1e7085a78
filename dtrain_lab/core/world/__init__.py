"""Membership of a world as a pure state machine: `step(state, event) -> (state, actions)`.

Events are facts that the head learned; actions are what it then does. No clock, no socket, no torch:
times come with events, and timers are actions that come back as events.
"""

from __future__ import annotations

from dtrain_lab.core.world.actions import Action
from dtrain_lab.core.world.events import Event
from dtrain_lab.core.world.machine import step
from dtrain_lab.core.world.members import Member, Members
from dtrain_lab.core.world.state import Loss, State, initial

__all__ = ["Action", "Event", "Loss", "Member", "Members", "State", "initial", "step"]
