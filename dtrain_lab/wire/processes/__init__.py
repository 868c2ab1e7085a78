"""What our processes are told when they are started, and by what they are found."""
