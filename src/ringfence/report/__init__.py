"""The report: one page for the people who answer for a release, with its charts."""
