"""Real clients of LLMs as judges, each against a server on loopback. `.ci/run` installs them; elsewhere these skip."""
