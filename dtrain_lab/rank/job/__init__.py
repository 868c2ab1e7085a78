"""One rank of a job: `script` runs the notebook's script, after `setup`; `display` shows its output."""
