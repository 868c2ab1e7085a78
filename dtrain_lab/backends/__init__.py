"""Back-ends: how a head and its node agents come to run somewhere, and how their fate is learned.

One contract (`base.Backend`) for clusters and jobs; `registry` finds an implementation by its name. Runs in
doors and in the head. May import core only.
"""
