"""pocket under transformers' own generate(): what our loop is measured against, and checked against."""

from typing import Any

import torch
from torch import Tensor
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from fastocr_cli.models.base import Prompt
from fastocr_cli.models.pocket import Model
from fastocr_cli.models.pocket.places import place_of


class PocketForGeneration(PreTrainedModel, GenerationMixin):
    """The same network and weights behind the interface that generate() wants; prompts go in as embeddings."""

    base_model_prefix = "model"
    _supports_sdpa = True

    def __init__(self, model: Model) -> None:
        super().__init__(model.text_config)
        self.generation_config.update(eos_token_id=list(model.stop_token_ids), pad_token_id=0, bos_token_id=1)
        self.model = model.text_model
        self.pocket = [model]  # in a list: not a submodule of its own

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        cache: Any = None,
        use_cache: bool = True,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        embeds = self.pocket[0].embed(input_ids) if inputs_embeds is None else inputs_embeds
        positions = self.next_positions(embeds.shape[1])
        if inputs_embeds is None:
            embeds = embeds + self.pocket[0].network.place(*place_of(positions))
        output = self.model(
            inputs_embeds=embeds,
            attention_mask=attention_mask,
            position_ids=positions,
            cache=cache,
            use_cache=use_cache,
        )
        hidden = output.last_hidden_state[:, -1]
        self.counts = self.counts + 1
        if input_ids is not None and inputs_embeds is None:
            for reading, token in zip(self.readings, input_ids[:, -1].tolist(), strict=True):
                reading.wrote(token)
        logits, self.places = self.pocket[0].next_tokens(hidden, self.counts, self.readings)
        return CausalLMOutputWithPast(logits=logits[:, None], cache=output.cache)

    def next_positions(self, length: int) -> Tensor:
        """(3, rows, length): the prompt's, then where pocket says that each token was printed."""
        return self.prompt_positions if length > 1 else self.places[..., None]

    def prepare_inputs_for_generation(  # type: ignore[override]
        self,
        input_ids: Tensor,
        inputs_embeds: Tensor | None = None,
        cache: Any = None,
        attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        first = inputs_embeds is not None and cache.get_seq_length() == 0
        tokens = {"inputs_embeds": inputs_embeds} if first else {"input_ids": input_ids[:, -1:]}
        return {**tokens, "attention_mask": attention_mask, "cache": cache, "use_cache": True}

    @torch.inference_mode()
    def write(self, prompts: list[Prompt], max_new_tokens: int, **options: Any) -> list[list[int]]:
        """Greedy token ids of a left-padded batch."""
        length = max(map(len, prompts))
        width = prompts[0].embeds.shape[1]
        embeds = torch.zeros(len(prompts), length, width)
        mask = torch.zeros(len(prompts), length, dtype=torch.long)
        self.prompt_positions = torch.zeros(3, len(prompts), length, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            embeds[row, -len(prompt) :], mask[row, -len(prompt) :] = prompt.embeds, 1
            self.prompt_positions[:, row, -len(prompt) :] = prompt.positions
        self.readings = [self.pocket[0].begin(prompt) for prompt in prompts]
        self.counts = torch.tensor([prompt.next_position - 1 for prompt in prompts])
        written = self.generate(
            inputs_embeds=embeds, attention_mask=mask, max_new_tokens=max_new_tokens, do_sample=False, **options
        )
        return written.tolist()
