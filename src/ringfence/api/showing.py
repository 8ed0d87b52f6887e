"""How far a search is, shown while it runs."""

from contextlib import AbstractContextManager

from ringfence.events import Listener


def progress() -> AbstractContextManager[Listener]:
    """Show on the terminal, or in the notebook, what a run is busy with, as long as the context lasts.

    Gives a listener for `anonymize`, `run` and `frontier`: the stage, the time, how far it is, the best loss so far and
    what none can go below. Where there is neither, a search that goes on for long says so in a line now and then. The
    first Ctrl-C in a search that has an answer ends the search, and the run goes on with the best so far; any other
    interrupts the run.

    >>> with progress() as listener:  # doctest: +SKIP
    ...     release = anonymize(table, spec, listener=listener)
    """
    from ringfence.display import shown

    return shown()
