"""What all commands of the terminal share: groups, output and errors, tables."""
