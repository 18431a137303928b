"""`python -m rankframe`: the command line."""

from rankframe.cli import run

if __name__ == "__main__":
    run()
