"""Random small tables and specifications, and a judge of what comes out, by plain definitions.

`columns` draws values of many kinds and says which are one value, `cases` draws tables and specifications, `labels`
reads what is published, `judge` follows every row to its person and counts, `trial` carries a case out. Nothing here
asks the library what a value or a label is: a fault that two of its parts share must not vouch for itself.

    python -m tests.fuzz 2000 --seed 5
"""
