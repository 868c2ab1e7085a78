"""Who owns the ranks: a cluster's head (`owner`), or a launcher that a job's head observes (`observer`).

Also carries out what the membership state machine orders (`executor`), and reaches the ranks (`rank_routes`).
"""
