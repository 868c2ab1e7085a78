"""`python -m dtrain_lab.rank FOLDER`: runs a job's script as one rank."""

from dtrain_lab.rank.job.runner import main

if __name__ == "__main__":
    main()
