"""Which network reads the page. Rows only: nothing here imports torch.

A new checkpoint of a known family is one row of CHECKPOINTS; a new family is one file and one line of FAMILIES.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fastocr_cli.models import instructions

if TYPE_CHECKING:
    from fastocr_cli.models.base import VisionModel


@dataclass(frozen=True)
class Checkpoint:
    """One set of weights that a family can load, and what is particular to it."""

    name: str
    family: str
    """Module below `fastocr_cli.models`; its class `Model` is the family. Empty until a hub id's config is here."""
    repo: str = ""
    """Hub id; empty: the weights ship with the package, or lie in `folder`."""
    revision: str = "main"
    licence: str = ""
    size_gb: float = 0.0
    summary: str = ""
    folder: Path | None = None
    """Where the user said that the weights lie."""
    instruction: str = instructions.MARKDOWN
    """What the model is asked; `--prompt` replaces it."""
    official: str = ""
    """Where the maker's own package holds the instruction, `module:function` or `module:dictionary.key`; used where
    it is installed."""
    system: str = ""
    """System line of the chat; empty: none."""
    image_first: bool = True
    """The picture stands before the instruction."""
    reply: str = "plain"
    """Module below `fastocr_cli.markdown.replies` that reads what the model writes."""
    box_scale: int = 0
    """Boxes count from 0 to this along both sides; 0: pixels of the picture as the model saw it."""
    dpi: float = 150
    longest_side: int | None = None
    """Pixels; leads where it is given."""
    max_pixels: int | None = None
    """Most pixels that the encoder gets; None: as the weights' own preprocessor file says, else the family's."""
    max_new_tokens: int = 8192
    context_limit: int | None = None
    """Most positions of prompt and reply; None: as the weights' configuration says."""

    @property
    def key(self) -> str:
        """What profiles are filed under."""
        return f"{self.folder or self.repo or self.name}@{self.revision}"


FAMILIES: dict[str, str] = {
    "deepseek_ocr2": "deepseek_ocr2",
    "deepseek_vl_v2": "deepseek_ocr",
    "dots_ocr": "dots_ocr",
    "llava_onevision": "llava_onevision",
    "pocket": "pocket",
    "qwen2_5_vl": "qwen2_5_vl",
    "qwen3_vl": "qwen3_vl",
}
"""`model_type` of a config.json: the family that loads it."""

_ASSISTANT = "You are a helpful assistant."  # what Qwen2.5-VL's own chat template puts in when nothing is said
_RESEARCH = "Qwen Research (non-commercial)"

CHECKPOINTS: dict[str, Checkpoint] = {
    row.name: row
    for row in (  # the first of a family stands for weights that no row knows: the base model
        Checkpoint(
            "pocket",
            "pocket",
            revision="10390",  # the training step in its config.json: a profile of older weights is not used
            licence="AGPL-3.0-or-later",
            size_gb=0.016,
            summary="embedded, 8M parameters, offline",
        ),
        *(
            Checkpoint(
                name,
                "qwen2_5_vl",
                f"Qwen/Qwen2.5-VL-{size}-Instruct",
                revision,
                licence,
                size_gb,
                summary,
                system=_ASSISTANT,
            )
            for name, size, revision, licence, size_gb, summary in (
                ("qwen2.5-vl", "7B", "cc594898137f460bfe9f0759e9844b3ce807cfb5", "Apache-2.0", 16.6, "8.3B, general"),
                ("qwen2.5-vl-3b", "3B", "66285546d2b821cf421d4f5eb2576359d3770cd3", _RESEARCH, 7.5, "3.8B"),
                ("qwen2.5-vl-32b", "32B", "7cfb30d71a1f4f49a57592323337a4a4727301da", "Apache-2.0", 68.3, "33B"),
                ("qwen2.5-vl-72b", "72B", "89c86200743eec961a297729e7990e8f2ddbc4c5", "Qwen", 147, "73B"),
            )
        ),
        Checkpoint(
            "olmocr",
            "qwen2_5_vl",
            "allenai/olmOCR-2-7B-1025",
            licence="Apache-2.0",
            size_gb=16.6,
            summary="8.3B; books, papers, old scans",
            instruction=instructions.OLMOCR,
            official="olmocr.prompts:build_no_anchoring_v4_yaml_prompt",
            system=_ASSISTANT,
            image_first=False,
            reply="olmocr",
            longest_side=1288,
            max_new_tokens=8000,
            context_limit=16384,
        ),
        Checkpoint(
            "olmocr-0825",
            "qwen2_5_vl",
            "allenai/olmOCR-7B-0825",
            licence="Apache-2.0",
            size_gb=16.6,
            summary="8.3B; the release before",
            instruction=instructions.OLMOCR_MARKDOWN_TABLES,
            official="olmocr.prompts:build_no_anchoring_yaml_prompt",
            system=_ASSISTANT,
            image_first=False,
            reply="olmocr",
            longest_side=1288,
            max_new_tokens=8000,
            context_limit=16384,
        ),
        *(
            Checkpoint(
                name,
                "qwen3_vl",
                f"Qwen/Qwen3-VL-{size}-Instruct",
                revision,
                "Apache-2.0",
                size_gb,
                summary,
                instruction="qwenvl markdown",
                reply="qwen3_vl",
                box_scale=1000,
            )
            for name, size, revision, size_gb, summary in (
                ("qwen3-vl", "8B", "0c351dd01ed87e9c1b53cbc748cba10e6187ff3b", 17.5, "8.8B, general; taught Markdown"),
                ("qwen3-vl-4b", "4B", "ebb281ec70b05090aa6165b016eac8ec08e71b17", 8.9, "4.4B"),
                ("qwen3-vl-2b", "2B", "89644892e4d85e24eaac8bacfd4f463576704203", 4.3, "2.1B"),
            )
        ),
        Checkpoint(
            "firered-ocr",
            "qwen3_vl",
            "FireRedTeam/FireRed-OCR",
            licence="Apache-2.0",
            size_gb=4.3,
            summary="2.1B; Qwen3-VL trained for pages",
        ),
        Checkpoint(
            "logics-parsing",
            "qwen3_vl",
            "Logics-MLLM/Logics-Parsing-v2",
            licence="Apache-2.0",
            size_gb=8.4,
            summary="4.4B; HTML with boxes; charts, code, scores",
            instruction="QwenVL HTML",
            reply="qwen_html",
            box_scale=1000,
            dpi=200,
            max_pixels=7200 * 1024,
            max_new_tokens=16384,
        ),
        *(
            Checkpoint(
                name,
                "dots_ocr",
                f"rednote-hilab/{name}",
                revision,
                licence="MIT with a model licence agreement",
                size_gb=6.1,
                summary=summary,
                instruction=instructions.DOTS_LAYOUT,
                official=f"{name.replace('.', '_')}.utils.prompts:dict_promptmode_to_prompt.prompt_layout_all_en",
                reply="dots_ocr",
                dpi=200,
                max_new_tokens=16384,
            )
            for name, revision, summary in (
                ("dots.ocr", "c0111ce6bc07803dbc267932ffef0ae3a51dc951", "3.0B; layout with boxes, 100 languages"),
                ("dots.mocr", "main", "3.0B; the release after"),
            )
        ),
        *(
            Checkpoint(
                name,
                family,
                repo,
                revision,
                licence,
                size_gb,
                summary,
                instruction="<|grounding|>Convert the document to markdown.",
                reply="deepseek_ocr",
                dpi=200,
            )
            for name, family, repo, revision, licence, size_gb, summary in (
                (
                    "deepseek-ocr",
                    "deepseek_ocr",
                    "deepseek-ai/DeepSeek-OCR",
                    "9f30c71f441d010e5429c532364a86705536c53a",
                    "MIT",
                    6.7,
                    "3.3B, 0.6B active; layout with boxes, few visual tokens",
                ),
                (
                    "deepseek-ocr-2",
                    "deepseek_ocr2",
                    "deepseek-ai/DeepSeek-OCR-2",
                    "aaa02f3811945a91062062994c5c4a3f4c0af2b0",
                    "Apache-2.0",
                    6.8,
                    "3.4B, 0.6B active; the release after",
                ),
            )
        ),
        *(
            Checkpoint(
                name,
                "llava_onevision",
                f"llava-hf/llava-onevision-qwen2-{size}-ov-hf",
                revision,
                "Apache-2.0",
                size_gb,
                summary,
                max_new_tokens=4096,
            )
            for name, size, revision, size_gb, summary in (
                ("llava-ov", "7b", "0d50680527681998e456c7b78950205bedd8a068", 16.1, "8B; weak on dense pages"),
                ("llava-ov-0.5b", "0.5b", "main", 1.8, "0.9B, general"),
            )
        ),
    )
}


def family(name: str) -> "type[VisionModel]":
    """The class that loads and runs checkpoints of one family (imports torch)."""
    model: type[VisionModel] = import_module(f"fastocr_cli.models.{name}").Model
    return model
