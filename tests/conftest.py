"""Settings for every test: property tests are the same on every machine, and have no deadline on two busy cores."""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

# A shell that starts the tests behind an & has them and their processes ignore Ctrl-C, which some of them send.
signal.signal(signal.SIGINT, signal.default_int_handler)
