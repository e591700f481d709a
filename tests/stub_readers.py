"""A reader for engines of several processes, without a model: what it does hangs on words in names.

A device called `missing`, `broken` or `gone` cannot be read on; so does a document whose name holds `kill`, `break` or
`slow` make a page of it. Run as a program it is the `fastocr` command with two such readers.
"""

import logging
import os
import signal
import time
from collections.abc import Iterable, Iterator

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ModelError
from fastocr_cli.pages.refs import PageRef, PageResult

DEADLY = 5
"""The page at which a `kill` or `break` document does so."""


class StubReader:
    def __init__(self, config: RunConfig) -> None:
        self.device = config.device
        assert config.gpus is None
        if self.device.startswith("missing"):
            raise ModelError("The weights of stub are not on this machine.", "Run: fastocr models download stub")
        if self.device.startswith("broken"):
            raise RuntimeError("no kernel image")
        if self.device.startswith("gone"):
            os.kill(os.getpid(), signal.SIGKILL)
        logging.getLogger("fastocr").warning("%s is ready", self.device)

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        for ref in refs:
            name = ref.document.name
            assert ref.document.path.exists()
            if "kill" in name and ref.number == DEADLY:
                os.kill(os.getpid(), signal.SIGKILL)
            if "break" in name and ref.number == DEADLY:
                raise RuntimeError("no memory of it")
            time.sleep(0.2 if "slow" in name else 0.005)
            yield PageResult(ref, markdown=f"Text of {name}, page {ref.number}.", extra={"device": self.device})


if __name__ == "__main__":
    import stub_readers
    from fastocr_cli import pipeline
    from fastocr_cli.cli import main
    from fastocr_cli.engine_processes import ProcessEngine

    pipeline.open_engine = lambda config: ProcessEngine(config, ("one", "two"), stub_readers.StubReader)  # type: ignore
    main()
