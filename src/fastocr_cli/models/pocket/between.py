"""What was written between print: ends of lines, marks, blanks of code. A page repeats itself, so it is drafted again.

Knows tokens and how lines follow each other; nothing of what the tokens mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

Step = tuple[int, int]
"""From a line to the next one: rows of cells down, and the half cell where it begins."""

REPEATED = 3
"""Times in a row, from which on a token is expected to come again: blanks of a line that is set in further than any."""


@dataclass(frozen=True)
class Between:
    """What stands between the last print and the next, and what stood before earlier lines."""

    open: tuple[int, ...] = ()
    """Tokens since the last print."""
    step: Step | None = None
    """To the line before which they stand, if one begins there."""
    before: Mapping[Step, tuple[int, ...]] = field(default_factory=dict)
    """What stood before lines, by the step to them; the last to be written comes last."""

    def with_mark(self, token: int, step: Step | None) -> "Between":
        """After a token that prints nothing, while the finger is where a line begins after such a step, or none."""
        return replace(self, open=(*self.open, token), step=self.step if self.open else step)

    def with_print(self, step: Step | None) -> "Between":
        """After letters, with which a line began after such a step, or none."""
        step = self.step if self.open else step
        if step is None:
            return replace(self, open=()) if self.open else self
        others = {earlier: tokens for earlier, tokens in self.before.items() if earlier != step}
        return Between(before={**others, step: self.open})

    def following(self, step: Step | None) -> tuple[int, ...]:
        """What comes next before a line that begins after such a step: the same as before the line most like it, or, of
        those that had so far the same, before the last one."""
        step = self.step if self.open else step
        if step is None:
            return ()
        rows, half = step
        latest = [*self.before.items()][::-1]
        beginning_alike = [known for known in latest if known[0][1] == half]
        alike = [min(beginning_alike, key=lambda known: abs(known[0][0] - rows))] if beginning_alike else latest[:1]
        num = len(self.open)
        tried = (tokens for _, tokens in [*alike, *(latest if num else ())])
        return next((tokens[num:] for tokens in tried if tokens[:num] == self.open), self._repeated)

    @property
    def _repeated(self) -> tuple[int, ...]:
        """Some more of the last token, if there were as many of it."""
        last = self.open[-REPEATED:]
        return last * 2 if len(last) == REPEATED and len(set(last)) == 1 else ()
