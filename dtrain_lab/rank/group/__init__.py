"""The process group of a rank: formed, aborted, rebuilt and resized; and its rendezvous stores."""
