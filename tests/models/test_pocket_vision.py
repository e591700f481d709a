"""Reading pocket's encoder faster changes nothing."""

import torch

from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.vision import Vision, fold_norms


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
