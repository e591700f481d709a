"""What pocket's encoder measures without weights, and that reading it faster changes nothing."""

import torch

from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.vision import Vision, drawn_lines, fold_norms


def test_a_line_is_found_where_it_is_drawn_and_letters_are_none() -> None:
    pixels = torch.zeros(1, 1, 48, 120)
    pixels[0, 0, 20, 40:100] = 0.8  # half cells 10 to 24 of the third row of cells
    pixels[0, 0, 32:44, 8:30] = 1  # a broad letter
    pixels[0, 0, 2:46, 110:112] = 1  # a line down
    across, down = torch.zeros(2, 6, 30, dtype=torch.bool)
    across[2, 10:25] = True
    down[:, 27] = True
    assert (drawn_lines(pixels)[0] == torch.stack([across, down])).all()


def test_folding_the_norms_changes_no_numbers() -> None:
    torch.manual_seed(0)
    vision = Vision(PocketConfig(hidden_size=32, vision_channels=[4, 8, 8])).eval()
    for module in vision.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            for tensor in (module.weight, module.bias, module.running_mean, module.running_var):
                torch.nn.init.uniform_(tensor, 0.5, 2)
    pixels, kept = torch.rand(1, 1, 64, 96), torch.arange(16)[None]
    with torch.inference_mode():
        before = vision(pixels, None, kept)
        fold_norms(vision)
        after = vision(pixels, None, kept)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in vision.modules())
    torch.testing.assert_close(after.classes, before.classes, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(after.tokens, before.tokens, atol=1e-4, rtol=1e-3)
