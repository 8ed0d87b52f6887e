"""Many cases, and a tally of what became of them: `python -m tests.fuzz 2000 --seed 5`."""

import argparse
import sys
import time
from collections import Counter, defaultdict

from .shrink import shrunk
from .trial import carry_out, shape


def main() -> int:
    """Carry out cases and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int, nargs="?", default=200, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first; the others follow")
    parser.add_argument("--show", type=int, default=1, help="how many examples of each fault to print")
    parser.add_argument("--shrink", action="store_true", help="make the first example of each fault small")
    asked = parser.parse_args()
    start = time.perf_counter()
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    faults: dict[str, list[str]] = defaultdict(list)
    for seed in range(asked.seed, asked.seed + asked.cases):
        outcome = carry_out(seed)
        tally[outcome.case.method][outcome.result] += 1
        if outcome.result == "refused":
            reasons[outcome.why] += 1
        if outcome.result == "wrong":
            small = shrunk(outcome) if asked.shrink and shape(outcome) not in faults else outcome
            faults[shape(outcome)].append(f"{small.why}\n{small.case}")
    results = ["released", "unsatisfiable", "refused", "wrong"]
    print(f"{'method':24}" + "".join(f"{result:>15}" for result in results))
    for method, counts in sorted(tally.items()):
        print(f"{method:24}" + "".join(f"{counts[result]:15}" for result in results))
    print(f"{'all':24}" + "".join(f"{sum(c[result] for c in tally.values()):15}" for result in results))
    for reason, count in reasons.most_common():
        print(f"refused {count:5}  {reason}")
    for fault, examples in sorted(faults.items(), key=lambda found: -len(found[1])):
        print(f"WRONG {len(examples):5}  {fault}")
        for example in examples[: asked.show]:
            print("    " + example.replace("\n", "\n    "))
    print(f"{asked.cases} cases in {time.perf_counter() - start:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
