"""Membership of a world as a pure state machine: `step(state, event) -> (state, actions)`.

Events are facts that the head has learned; actions are what the head then does. No clock, no socket, no
torch: a timer is an action, and its expiry an event.
"""

from __future__ import annotations

from dtrain_lab.world.actions import Action
from dtrain_lab.world.events import Event
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import Loss, State, initial
from dtrain_lab.world.transitions import step

__all__ = ["Action", "Event", "Loss", "Member", "Members", "State", "initial", "step"]
