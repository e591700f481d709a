"""Tiny pocket: the embedded model's own three files, random and small."""

import json
from dataclasses import asdict
from pathlib import Path

from safetensors.torch import save_file

from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.network import PocketNetwork
from tiny.parts import NUM_BYTES, build_tokenizer, randomize

SPECIAL = ("<pad>", "<bos>", "<eos>", "<vision_start>", "<vision_end>", "<image>")


def build(folder: Path) -> None:
    config = PocketConfig(
        vocab_size=288,
        hidden_size=64,
        num_hidden_layers=4,
        intermediate_size=96,
        mrope_section=[2, 3, 3],
        vision_channels=[4, 8, 8],
        embedding_scale=1,  # else the tied head repeats what it just said
        pad_token_id=NUM_BYTES,
        eos_token_id=NUM_BYTES + 2,
        vision_start_token_id=NUM_BYTES + 3,
        vision_end_token_id=NUM_BYTES + 4,
        image_token_id=NUM_BYTES + 5,
    )
    network = PocketNetwork(config).eval()
    randomize(network)
    folder.mkdir(parents=True)
    save_file(
        {name: weight.contiguous() for name, weight in network.state_dict().items()}, folder / "model.safetensors"
    )
    (folder / "config.json").write_text(json.dumps({"model_type": "pocket", **asdict(config)}))
    build_tokenizer(SPECIAL).save(str(folder / "tokenizer.json"))
