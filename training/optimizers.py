"""How weights are changed, and in which arithmetic."""

import torch


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies in bf16: a CPU that only pretends to takes fifty times as long."""
    if device.type == "cpu":
        return any(has for name, has in torch.cpu.get_capabilities().items() if "bf16" in name)
    return device.type != "cuda" or torch.cuda.is_bf16_supported()


def optimizers(
    parameters: dict[str, torch.nn.Parameter], rate: float, device: torch.device
) -> list[torch.optim.Optimizer]:
    """Muon (its steps scaled as AdamW's, arXiv 2502.16982) for the matrices within, AdamW for the rest.

    Muon multiplies in bf16; without it AdamW takes all.
    """
    within = ("lm.layers", "vis.pool", "vis.mix") if has_bfloat16(device) else ()
    matrices = {n: p for n, p in parameters.items() if n.startswith(within) and p.ndim == 2}
    rest = [p for n, p in parameters.items() if n not in matrices]
    wide, narrow = [p for p in rest if p.ndim > 1], [p for p in rest if p.ndim <= 1]
    groups = [{"params": wide, "weight_decay": 0.05}, {"params": narrow, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)
    if not matrices:
        return [adam]
    return [torch.optim.Muon(matrices.values(), lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"), adam]
