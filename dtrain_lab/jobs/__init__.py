"""Jobs as values: state, folder, conversion of notebooks to scripts, checks before submission. Pure."""
