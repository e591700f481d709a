"""What can go wrong, as exceptions that carry an exit code and the next thing to type.

FastOCRError
├── ConfigError      an option or a combination of options that makes no sense
├── ModelError       weights, profile or library missing
├── InputError       a file that cannot be read as a document
├── PageError        one page that cannot be rendered or read; becomes a failed PageResult
└── OutputError      a result that cannot be written
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a run ended. Stable: scripts rely on it (docs/errors.md)."""

    DONE = 0
    UNEXPECTED = 1
    USAGE = 2
    MODEL_MISSING = 3
    SOME_FAILED = 4
    NOTHING_SUCCEEDED = 5
    INPUT = 6
    OUTPUT = 7
    INTERRUPTED = 130


class FastOCRError(Exception):
    """A failure that a user can understand: one sentence on what happened, one on what to do."""

    exit_code = ExitCode.UNEXPECTED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.message, self.hint)


class ConfigError(FastOCRError):
    exit_code = ExitCode.USAGE


class ModelError(FastOCRError):
    exit_code = ExitCode.MODEL_MISSING


class InputError(FastOCRError):
    exit_code = ExitCode.INPUT


class PageError(FastOCRError):
    exit_code = ExitCode.SOME_FAILED


class OutputError(FastOCRError):
    exit_code = ExitCode.OUTPUT
