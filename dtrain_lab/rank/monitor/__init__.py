"""The training monitor of a rank: hooks in torch, and the checks that compare what ranks do."""
