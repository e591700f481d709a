"""From what a model said to clean Markdown, HTML tables and LaTeX. Text only: no model, no torch, no files."""

from fastocr_cli.markdown.clean import clean_page
from fastocr_cli.markdown.cut import cut_page
from fastocr_cli.markdown.figures import figure_numbers, link_figures
from fastocr_cli.markdown.reply import Reply
from fastocr_cli.markdown.tables import ragged_tables

__all__ = ["Reply", "clean_page", "cut_page", "figure_numbers", "link_figures", "ragged_tables"]
