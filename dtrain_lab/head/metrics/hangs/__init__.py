"""Whether a world is stuck: where its ranks wait, which are held by a debugger, which answer no interrupt."""
