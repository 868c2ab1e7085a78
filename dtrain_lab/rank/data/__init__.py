"""Transfer of values between a notebook and its ranks, and fingerprints to compare them."""
