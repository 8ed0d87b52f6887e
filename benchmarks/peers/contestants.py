"""Who meets whom: the tools, what each can do, and what is asked of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.tables import Contest

K = 5


@dataclass(frozen=True, eq=False)
class Contestant:
    """A tool and one of its methods; `requirements` are what pip installs for it, the tool itself first."""

    name: str
    driver: str
    requirements: tuple[str, ...]
    method: Mapping[str, Any] = field(default_factory=dict)
    again: bool = True
    """Whether it can be called twice in a process."""

    @property
    def package(self) -> str:
        """The tool, as pip calls it."""
        return self.requirements[0].split("[")[0].split("==")[0]

    @property
    def ours(self) -> bool:
        """Whether it is ours: then it runs in the environment that the benchmark runs in."""
        return self.package == "ringfence"


def _ours(shown: str, driver: str = "ringfence", **method: Any) -> Contestant:
    return Contestant(f"ringfence, {shown}", driver, ("ringfence",), method)


ANJANA = Contestant("anjana", "anjana", ("anjana==1.2.3",))
CROWDS = Contestant("crowds", "crowds", ("crowds==0.0.1",), again=False)  # its candidates are kept for the next call
OPENMED = Contestant("openmed", "openmed", ("openmed==3.1.0", "pandas"))
PYTHON_ANONYMITY = Contestant(
    "python-anonymity, Datafly", "python_anonymity", ("python-anonymity==0.0.1.post1", "pycanon")
)
ANONYPY = Contestant("anonypy, Mondrian", "anonypy", ("anonypy==0.2.1", "pandas"))
ANONYPYX = ("anonypyx==0.2.11",)
MONDRIAN = Contestant("anonypyx, Mondrian", "anonypyx_mondrian", ANONYPYX)
MDAV = Contestant("anonypyx, MDAV", "anonypyx_mdav", ANONYPYX)
POLARFROST = Contestant("polarfrost, Mondrian", "polarfrost", ("polarfrost==0.2.1", "pyspark<4"))
PRIVACY_PRESERVER = Contestant("privacy-preserver, Mondrian", "privacy_preserver", ("privacy-preserver==1.0.1",))
ARX = Contestant("ARX", "arx", ("arx",))
"""Not installed by pip: it takes part where ARX_HOME is a folder with its jar, and Java compiles `Arx.java`."""
PYCANON = Contestant("pycanon", "pycanon", ("pycanon==1.3.6",))


@dataclass(frozen=True)
class Question:
    """What is asked: a kind of method, how many rows may be suppressed, and who can answer."""

    name: str
    contestants: tuple[Contestant, ...]
    suppression: float = 0.0
    labels: bool = False
    """Whether labels of hierarchies are published; else ranges of numbers, and sets."""

    def attributes(self, contest: Contest) -> dict[str, dict[str, Any]]:
        """Return the attributes of our specification."""
        return {
            name: {
                "role": "quasi",
                **({"order": "numeric"} if name in contest.numeric else {}),
                **({"hierarchy": {"file": f"{name}.csv"}} if self.labels else {}),
            }
            for name in contest.quasi
        }

    def spec(self, contest: Contest) -> dict[str, Any]:
        """Return what the audit holds every release against."""
        method = {"scheme": "level", "suppression": self.suppression} if self.labels else {"name": "mondrian"}
        return {"attributes": self.attributes(contest), "privacy": {"k": K}, "method": method}


def _levels(suppression: float, *peers: Contestant) -> Question:
    best = _ours("levels", name="optimal", scheme="level", metric="glm", suppression=suppression)
    return Question(f"levels-{suppression:.0%}".rstrip("%"), (best, *peers), suppression, labels=True)


LEVELS = (_levels(0.0, ARX, ANJANA, PYTHON_ANONYMITY, CROWDS, OPENMED), _levels(0.01, ARX, ANJANA, CROWDS, OPENMED))
GROUPS = Question(
    "groups",
    (
        _ours("mondrian", name="mondrian"),
        _ours("local, fast", name="local", effort="fast"),
        _ours("local", name="local"),
        *(ANONYPY, MONDRIAN, PRIVACY_PRESERVER, POLARFROST, MDAV),
    ),
)
JUDGING = Question("judging", (_ours("audit", "ringfence_audit"), PYCANON))
PUBLISHING: Sequence[Question] = (*LEVELS, GROUPS)
EVERYONE = tuple(dict.fromkeys(each for question in (*PUBLISHING, JUDGING) for each in question.contestants))
