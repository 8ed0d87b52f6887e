"""Values: hierarchies over them, how they are built, and recodings of them."""
