"""pocket's sizes, as its `config.json` holds them."""

from dataclasses import dataclass, field
from typing import Any

from transformers import Qwen2_5_VLConfig


@dataclass(frozen=True)
class PocketConfig:
    """The sizes, as `config.json` holds them; the defaults are those of the shipped weights."""

    vocab_size: int = 2325
    hidden_size: int = 256
    num_hidden_layers: int = 6
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    intermediate_size: int = 704
    rope_theta: float = 10000.0
    mrope_section: list[int] = field(default_factory=lambda: [8, 12, 12])
    vision_channels: list[int] = field(default_factory=lambda: [24, 48, 96])
    token_height: int = 16
    token_width: int = 24
    dpi: int = 120
    embedding_scale: float = 16
    image_token_id: int = 5
    vision_start_token_id: int = 3
    vision_end_token_id: int = 4
    eos_token_id: int = 2
    pad_token_id: int = 0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "PocketConfig":
        """Ignores what is not a size (`model_type`, `training_step`)."""
        return cls(**{k: v for k, v in values.items() if k in cls.__dataclass_fields__})

    def text_config(self) -> Any:
        """The decoder's configuration in transformers' words."""
        rope = {"rope_type": "default", "rope_theta": self.rope_theta, "mrope_section": self.mrope_section}
        return Qwen2_5_VLConfig(
            text_config={
                "vocab_size": self.vocab_size,
                "hidden_size": self.hidden_size,
                "intermediate_size": self.intermediate_size,
                "num_hidden_layers": self.num_hidden_layers,
                "num_attention_heads": self.num_attention_heads,
                "num_key_value_heads": self.num_key_value_heads,
                "max_position_embeddings": 32768,
                "rope_parameters": rope,
                "bos_token_id": 1,
                "eos_token_id": self.eos_token_id,
                "pad_token_id": self.pad_token_id,
            }
        ).text_config
