"""What a release gives away by being tight: found from its labels alone."""
