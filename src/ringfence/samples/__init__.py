"""Seeded sample people, baskets and visits to a hospital: enough to try everything without data of one's own.

People and baskets come with their specifications; the one of the visits is left to `ringfence init`.

Nobody in them is real. Columns depend on each other as in a census: marital status on age, occupation on education,
salary on all of these. Few values are common and many are rare, since that decides how hard anonymization is. All
randomness is uniform numbers from one stream put through tables of shares, so the same rows and seed always give the
same table.
"""

from ringfence.samples.hospital import visits, write_visits
from ringfence.samples.persons import people, people_spec, write_people
from ringfence.samples.shopping import baskets, baskets_spec, write_baskets

__all__ = [
    "baskets",
    "baskets_spec",
    "people",
    "people_spec",
    "visits",
    "write_baskets",
    "write_people",
    "write_visits",
]
