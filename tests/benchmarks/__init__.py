"""Speed and memory of rankframe beside its peers; `python -m tests.benchmarks` prints the table."""
