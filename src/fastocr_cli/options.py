"""The flags of the command line, each declared once: name, help, environment variable. Knows Typer, runs nothing.

Defaults are not here: they are the class attributes of `RunConfig`.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from fastocr_cli.config import CHOICES

READING, OUTPUT, RUNNING = "Reading", "Output", "Running"


def flag(panel: str, name: str, *more_names: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """An option that an environment variable can set: `--batch-size` by FASTOCR_BATCH_SIZE.

    Where RunConfig lists the choices of an option, they are its metavar.
    """
    words = name.partition("/")[0].removeprefix("--").replace("-", "_")
    if words in CHOICES:
        metavar = "|".join(CHOICES[words])
    variable = f"FASTOCR_{words.upper()}"
    return typer.Option(
        name, *more_names, help=help, metavar=metavar, envvar=variable, show_envvar=False, rich_help_panel=panel, **more
    )


Inputs = Annotated[
    list[str],
    typer.Argument(help="Files, folders, globs, or - for standard input.", metavar="INPUT", show_default=False),
]

Model = Annotated[
    str,
    flag(
        READING, "--model", "-m", help="Which network reads; see `fastocr models list`.", metavar="NAME|HUB_ID|FOLDER"
    ),
]
Pages = Annotated[str | None, flag(READING, "--pages", help="Which pages, counted from 1: 1-3,7,10-", metavar="RANGES")]
Method = Annotated[
    str, flag(READING, "--method", help="How decoding is pruned; see `fastocr methods`.", metavar="NAME")
]
Option = Annotated[
    list[str] | None, flag(READING, "--option", "-O", help="An option of the method; repeatable.", metavar="KEY=VALUE")
]
Keep = Annotated[
    float | None, flag(READING, "--keep", help="Share of the page looked at in each step, up to 1.", metavar="SHARE")
]
Dpi = Annotated[str, flag(READING, "--dpi", help="Resolution; auto is what the model was made for.", metavar="auto|N")]
TextLayer = Annotated[str, flag(READING, "--text-layer", help="A PDF page's own characters: help with them, or not.")]
MaxNewTokens = Annotated[
    int | None, flag(READING, "--max-new-tokens", help="Longest reply for one page.", metavar="N", show_default=False)
]
Password = Annotated[
    str | None,
    flag(READING, "--password", help="Opens encrypted PDFs; FASTOCR_PASSWORD hides it from `ps`.", metavar="PASSWORD"),
]
Prompt = Annotated[
    str | None, flag(READING, "--prompt", help="Replaces the model's own instruction.", metavar="TEXT|@FILE")
]

Output = Annotated[
    Path | None,
    flag(
        OUTPUT,
        "--output",
        "-o",
        help="Folder for the results; without it one input goes to standard output.",
        metavar="DIR",
    ),
]
Format = Annotated[str, flag(OUTPUT, "--format", "-f", help="What is written.")]
Tables = Annotated[str, flag(OUTPUT, "--tables", help="How tables are written.")]
PageMarks = Annotated[
    bool, flag(OUTPUT, "--page-marks/--no-page-marks", help="Mark where each page begins: <!-- page 3 -->")
]
Overwrite = Annotated[bool, flag(OUTPUT, "--overwrite", help="Read pages again that an earlier run finished.")]

BatchSize = Annotated[str, flag(RUNNING, "--batch-size", help="Pages decoded together.", metavar="auto|N")]
Device = Annotated[str, flag(RUNNING, "--device", help="auto, cpu, cuda, cuda:1 or mps.", metavar="DEVICE")]
Gpus = Annotated[
    str | None,
    flag(RUNNING, "--gpus", help="Read on several GPUs, a process on each.", metavar="all|0,1,...", show_default=False),
]
Dtype = Annotated[str, flag(RUNNING, "--dtype", help="Number type of the model.")]
Shard = Annotated[
    str | None, flag(RUNNING, "--shard", help="Read only the I-th of every N pages.", metavar="I/N", show_default=False)
]
FailOn = Annotated[
    str,
    flag(
        RUNNING,
        "--fail-on",
        help="What makes the exit code 4: a cut page too, a failed page, a failed document, nothing.",
    ),
]
Progress = Annotated[
    str, flag(RUNNING, "--progress", help="What is shown on standard error.", metavar="auto|rich|json|none")
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        help="Tell more, -vv all.",
        metavar="",
        show_default=False,
        rich_help_panel=RUNNING,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Tell only what failed.", rich_help_panel=RUNNING)]

PagesFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--pages-from",
        help="Documents to measure on; repeatable. Without it: a sample that ships along.",
        metavar="FILE",
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Write a picture (needs matplotlib).", metavar="FILE")]
