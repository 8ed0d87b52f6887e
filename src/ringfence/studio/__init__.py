"""Studio: a web application on this machine, for people and for programs."""
