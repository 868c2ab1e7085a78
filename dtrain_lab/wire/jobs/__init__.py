"""Jobs: request, plan, record, state and findings; and messages between the hosts of one job (`gang`)."""
