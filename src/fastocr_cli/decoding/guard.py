"""LoopGuard: notices that a page has begun to repeat itself, from token ids, and from what a model knows to have read.

Two tests. Period: the last tokens are a copy of those before, several times over. N-gram: a long window holds
hardly any new n-gram. Tokens that may repeat in good text (table tags, dot leaders) need far longer runs. What repeats
on the page itself is no loop: there the model goes on to parts of the page that it had not read.
Knows nothing of models or text.
"""

import numpy as np

MAX_PERIOD = 400
"""Longest repeating passage looked for, in tokens: about a paragraph."""
MIN_RUN, FREE_RUN = 48, 400
"""Repeated tokens, beyond the first copy, that make a loop; the second for passages of free tokens only."""
WINDOW, NGRAM, MIN_NEW_SHARE = 512, 6, 0.25
"""N-gram test: fewer than this share of the window's n-grams are distinct."""
CHECK_EVERY = 32
ONWARD = 0.25
"""Of the page newly read for each token, from which on repeated text is the page's own."""


class LoopGuard:
    """Watches one page. `see` each token; when it answers, cut the text there and stop."""

    def __init__(self, free_token_ids: frozenset[int] = frozenset()) -> None:
        self.free_token_ids = free_token_ids
        self.ids = np.zeros(1024, np.int64)
        self.read: list[int] = []  # how much of the page was, at each token
        self.num_seen = 0
        self.run = np.zeros(MAX_PERIOD + 1, np.int64)  # run[p]: tokens in a row that equal the one p before
        periods = np.arange(MAX_PERIOD + 1)
        self.limit = np.maximum(MIN_RUN, np.where(periods < 64, 3, 2) * periods)

    def see(self, token: int, num_read: int = 0) -> int | None:
        """Take the next token; answer how many tokens to keep once the text loops, else None.

        Args:
            token: its id.
            num_read: how much of the page was read so far, nothing twice; 0 if the model does not know.
        """
        if self.num_seen == len(self.ids):
            self.ids = np.concatenate([self.ids, np.zeros_like(self.ids)])
        num_back = min(self.num_seen, MAX_PERIOD)
        back = self.ids[self.num_seen - num_back : self.num_seen][::-1]
        self.run[1 : num_back + 1] = (self.run[1 : num_back + 1] + 1) * (back == token)
        self.ids[self.num_seen] = token
        self.read.append(num_read)
        self.num_seen += 1
        cut = self._period_cut() or self._ngram_cut()
        return None if cut is None or self._read_on(cut) else cut

    def _read_on(self, cut: int) -> bool:
        """Whether tokens from this one on read what had not been read."""
        return self.read[-1] - self.read[cut] >= ONWARD * (self.num_seen - cut)

    def _period_cut(self) -> int | None:
        for period in np.nonzero(self.run >= self.limit)[0]:
            passage = self.ids[self.num_seen - period : self.num_seen]
            if self.run[period] >= FREE_RUN or not self.free_token_ids.issuperset(passage.tolist()):
                return int(self.num_seen - self.run[period])  # the first copy stays
        return None

    def _ngram_cut(self) -> int | None:
        if self.num_seen < WINDOW or self.num_seen % CHECK_EVERY:
            return None
        window = self.ids[self.num_seen - WINDOW : self.num_seen]
        window = window[~np.isin(window, list(self.free_token_ids))]
        if len(window) < WINDOW // 4:
            return None
        grams = np.lib.stride_tricks.sliding_window_view(window, NGRAM)
        if len(np.unique(grams, axis=0)) >= MIN_NEW_SHARE * len(grams):
            return None
        return self.num_seen - WINDOW + WINDOW // 4

    def banned(self, size: int = 24) -> int | None:
        """The token that would repeat the last `size` tokens' earlier continuation: a retry must not write it."""
        if self.num_seen < 2 * size:
            return None
        tail = self.ids[self.num_seen - size + 1 : self.num_seen]
        if self.free_token_ids.issuperset(tail.tolist()):
            return None
        history = np.lib.stride_tricks.sliding_window_view(self.ids[: self.num_seen - 1], size - 1)
        found = np.nonzero((history == tail).all(1))[0]
        return int(self.ids[found[-1] + size - 1]) if len(found) else None
