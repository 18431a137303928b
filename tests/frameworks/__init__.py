"""Real objects of other libraries as retrievers. `.ci/run` installs them; elsewhere these tests are skipped."""
