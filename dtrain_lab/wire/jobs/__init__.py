"""Jobs: request, plan, record, state, findings; and the messages of hosts that start one together."""
