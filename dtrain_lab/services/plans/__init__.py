"""Plans of jobs: `planning` makes one from a request, `preview` shows it, `plan_store` keeps it to submit.

The other modules find what goes into a plan (files, facts about nodes) and what is wrong with it.
"""
