"""How useful a release is, measured as one of its users would: from the published table alone."""
