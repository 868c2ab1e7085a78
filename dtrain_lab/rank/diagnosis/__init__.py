"""Steps of training that are repeated to be timed, and taken back: `diagnose`, and advice that is tried."""
