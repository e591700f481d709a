"""The `fastocr` command: parse, call, show, exit code. Decides nothing that the library could decide.

Everything heavy is imported inside a command, so that `fastocr --help` answers at once.
"""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from fastocr_cli import __version__, options, settings
from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ExitCode
from fastocr_cli.shell import Commands, print_table, say, set_up_logging

NOT_IN_FILES = {"inputs", "password", "verbose", "quiet", "help"}
SHARED_WITH_PROFILE = ("model", "device", "dtype")

app = typer.Typer(
    cls=Commands,
    epilog="Options can also be set by FASTOCR_* variables (FASTOCR_BATCH_SIZE=4) and in fastocr.toml.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
models = typer.Typer(no_args_is_help=True)
app.add_typer(models, name="models", help="List the models, download one, show where it lies.")


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fastocr {__version__}")
        raise typer.Exit


def kind_of_option(parameter: Any) -> settings.Kind:
    return "list" if parameter.multiple else "switch" if parameter.is_flag else "value"


@app.callback()
def read_settings(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """PDFs and images to Markdown, with a vision-language model that looks only where it reads."""
    if ctx.invoked_subcommand in ("convert", "profile"):
        commands: Any = ctx.command
        parameters = commands.commands["convert"].params
        known = {p.name: kind_of_option(p) for p in parameters if p.name not in NOT_IN_FILES}
        values = settings.read_files(known)
        shared = {name: values[name] for name in SHARED_WITH_PROFILE if name in values}
        ctx.default_map = {"convert": values, "profile": shared}


@app.command()
def convert(
    inputs: options.Inputs,
    output: options.Output = RunConfig.output,
    model: options.Model = RunConfig.model,
    pages: options.Pages = RunConfig.pages,
    format: options.Format = RunConfig.format,
    method: options.Method = RunConfig.method,
    option: options.Option = None,
    keep: options.Keep = RunConfig.keep,
    batch_size: options.BatchSize = settings.AUTO,
    device: options.Device = RunConfig.device,
    gpus: options.Gpus = RunConfig.gpus,
    dtype: options.Dtype = RunConfig.dtype,
    dpi: options.Dpi = settings.AUTO,
    text_layer: options.TextLayer = RunConfig.text_layer,
    max_new_tokens: options.MaxNewTokens = RunConfig.max_new_tokens,
    password: options.Password = RunConfig.password,
    prompt: options.Prompt = RunConfig.prompt,
    tables: options.Tables = RunConfig.tables,
    page_marks: options.PageMarks = RunConfig.page_marks,
    overwrite: options.Overwrite = RunConfig.overwrite,
    shard: options.Shard = None,
    fail_on: options.FailOn = RunConfig.fail_on,
    progress: options.Progress = settings.AUTO,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> None:
    """Turn PDFs and images into Markdown.

    Run it again to go on where it stopped: finished pages are kept, failed ones are tried again.
    """
    set_up_logging(verbose, quiet)
    config = RunConfig(
        model=model,
        method=method,
        method_options=settings.parse_options(option or ()),
        keep=keep,
        pages=pages,
        output=None if output == Path("-") else output,
        format=format,
        batch_size=settings.parse_count_or_auto("batch-size", batch_size),
        device=device,
        gpus=gpus,
        dtype=dtype,
        dpi=settings.parse_number_or_auto("dpi", dpi),
        text_layer=text_layer,
        max_new_tokens=max_new_tokens,
        password=password,
        prompt=settings.read_prompt(prompt),
        tables=tables,
        page_marks=page_marks,
        overwrite=overwrite,
        shard=settings.parse_shard(shard),
        fail_on=fail_on,
    )
    raise typer.Exit(run(inputs, config, progress, quiet))


def run(inputs: list[str], config: RunConfig, progress: str, quiet: bool) -> ExitCode:
    """Convert with something to watch."""
    from fastocr_cli import pipeline
    from fastocr_cli.output.stdout import take_stdout
    from fastocr_cli.progress import open_watcher
    from fastocr_cli.pruning import METHODS, make_method

    if config.method_options or config.method not in METHODS:
        make_method(config.method, config.method_options)  # a mistyped option should not wait for the model
    watcher = open_watcher(progress, quiet=quiet)
    try:
        with ExitStack() as cleanup, watcher:
            if config.output is not None and sys.stdout is not None:
                take_stdout(cleanup)  # results go to files; what a library prints is none
            summary = pipeline.convert(inputs, config, watcher)
    except pipeline.Interrupted as interrupted:
        watcher.finish(interrupted.summary)
        kept = "" if config.output is None else " What was finished is kept: run the same command again to go on."
        say(f"Interrupted after {interrupted.summary.num_done} finished pages.{kept}")
        raise
    if not summary.output_closed:  # `| head` has seen enough, and so has its user
        watcher.finish(summary)
    return summary.exit_code(config.fail_on)


@app.command()
def profile(
    model: options.Model = RunConfig.model,
    pages_from: options.PagesFrom = None,
    plot: options.Plot = None,
    device: options.Device = RunConfig.device,
    dtype: options.Dtype = RunConfig.dtype,
    password: options.Password = RunConfig.password,
    verbose: options.Verbose = 0,
) -> None:
    """Measure which layers of a model look at the page, choose the focal ones, and save the choice."""
    set_up_logging(verbose)
    from fastocr_cli.models import hub
    from fastocr_cli.pruning import focal

    focal.check_writable(hub.find_checkpoint(model).key)
    from fastocr_cli.profiling import measure

    measured = measure(pages_from or [], RunConfig(model=model, device=device, dtype=dtype, password=password), say)
    rows = [("LAYER", "ATTENTION ON THE IMAGE", "")]
    for layer, share in enumerate(measured.image_share):
        rows.append((str(layer), f"{share:.1%}", "focal" if layer in measured.focal else ""))
    print_table(rows)
    say(f"Saved to {measured.save()}")
    if plot is not None:
        from fastocr_cli.plot import plot_profile

        plot_profile(measured, plot)


@models.command("list")
def list_models() -> None:
    """The models that --model knows by name, and which of them are on this machine."""
    from fastocr_cli.models import CHECKPOINTS, hub

    rows = [("NAME", "HERE", "SIZE", "LICENCE", "HUB ID", "")]
    for row in CHECKPOINTS.values():
        rows.append((row.name, hub.state(row), f"{row.size_gb:.3g} GB", row.licence, row.repo or "-", row.summary))
    print_table(rows)


@models.command("download")
def download_model(name: Annotated[str, typer.Argument(help="A name from `fastocr models list`.")]) -> None:
    """Fetch a model's weights, so that it reads without a network."""
    from fastocr_cli.models import hub

    typer.echo(hub.download(hub.find_checkpoint(name)))


@models.command("path")
def show_model_path(name: Annotated[str, typer.Argument(help="A name from `fastocr models list`.")]) -> None:
    """Print the folder of a model's hub."""
    from fastocr_cli.models import hub

    typer.echo(hub.require_folder(hub.find_checkpoint(name)))


@app.command()
def methods() -> None:
    """The pruning methods and their options, which -O key=value sets."""
    from fastocr_cli.pruning import METHODS, options_of

    for name, row in METHODS.items():
        typer.echo(f"{name}: {row.summary}")
        print_table((f"  {key}={default}", meaning) for key, (default, meaning) in options_of(name).items())


@app.command()
def doctor() -> None:
    """What this machine can run, and what is missing."""
    from fastocr_cli.doctor import examine

    findings = examine()
    print_table((finding.name, finding.value) for finding in findings)
    problems = [finding.problem for finding in findings if finding.problem]
    say(*problems)
    raise typer.Exit(ExitCode.MODEL_MISSING if problems else ExitCode.DONE)


def main() -> None:
    """Run the command line on this process: its arguments, streams and signals."""
    if sys.stderr is None:  # closed by the caller; `print` would fall back to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's stop is an interrupt
    try:
        app(prog_name="fastocr")
    finally:
        # Ctrl-C inside of any library's `exec` makes Python end by a signal at the very end, whatever the exit code;
        exec("")  # an `exec` that ends well makes it forget
        leave_quietly()


def leave_quietly() -> None:
    """Python flushes standard output once more at exit, and complains if its reader has gone: let it not."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
