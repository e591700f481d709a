"""A profile as a picture. The only file that knows matplotlib, which is an extra; knows nothing of models."""

from pathlib import Path

from fastocr_cli.errors import ModelError, OutputError
from fastocr_cli.pruning.focal import FocalProfile

WIDTH_INCHES, HEIGHT_INCHES = 8, 4


def plot_profile(profile: FocalProfile, path: Path) -> None:
    """Bars: each layer's share of attention on the image, the focal layers in another colour.

    Raises:
        ModelError: matplotlib is not installed.
        OutputError: the picture cannot be written, or its ending is no picture format.
    """
    try:
        from matplotlib.figure import Figure  # not pyplot: it would look for a display
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise ModelError("matplotlib is not installed.", "Run: pip install 'fastocr-cli[plot]'") from error
    figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots()
    for is_focal, colour, label in (
        (False, "0.7", "reads the fixation"),
        (True, "tab:orange", "focal: reads the page"),
    ):
        layers = [layer for layer in range(len(profile.image_share)) if (layer in profile.focal) == is_focal]
        axes.bar(layers, [profile.image_share[layer] for layer in layers], color=colour, label=label)
    axes.set(xlabel="layer", ylabel="share of attention on the image", title=profile.checkpoint)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise OutputError(f"The picture cannot be written to {path}: {error}.", "Try --plot profile.png") from error
