"""Families that answer in Markdown and give no regions: pocket, LLaVA-OneVision, FireRed-OCR, Qwen2.5-VL by default."""

from fastocr_cli.markdown.reply import Reply


def parse(text: str, width: int, height: int) -> Reply:
    """The reply as it is; the size is not needed."""
    return Reply(text)
