"""`python -m dtrain_lab` is `dtrain-lab`."""

from dtrain_lab.cli.main import main

if __name__ == "__main__":
    main(prog_name="dtrain-lab")
