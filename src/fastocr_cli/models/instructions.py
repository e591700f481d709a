"""What models are asked, in our own words. Text only.

Makers train on prompts of their own. Short triggers of theirs stand in the rows; for the long ones these say the
same in other words, and `--prompt` takes the original.
"""

MARKDOWN = (
    "Transcribe this page as Markdown, in the order in which a person reads it. Keep the wording exactly: correct, "
    "translate, shorten and add nothing. Mark headings with #, list items with - or their numbers. Write tables as "
    "HTML with rowspan and colspan, formulas as LaTeX between $ or $$. Pass over pictures, running heads, running "
    "feet and page numbers. Answer with the Markdown alone."
)

_OLMOCR = (
    "The picture shows one page of a document. Write down all of its text in the order in which a person reads it, "
    "as Markdown, with {tables} and formulas in LaTeX.{figures} Open with a YAML front matter that holds "
    "primary_language, is_rotation_valid, rotation_correction, is_table and is_diagram."
)

OLMOCR = _OLMOCR.format(
    tables="tables in HTML",
    figures=" Where there is a figure, put a Markdown image: what it shows as the alternative text, and as the file "
    "its place on the page, page_x_y_width_height.png.",
)

OLMOCR_MARKDOWN_TABLES = _OLMOCR.format(tables="tables in Markdown", figures="")

DOTS_LAYOUT = """Read this page and give back its layout: one JSON array, one object for each element, in reading order.
Each object holds
- "bbox": [x1, y1, x2, y2], the element's corners in pixels of the picture;
- "category": one of 'Caption', 'Footnote', 'Formula', 'List-item', 'Page-footer', 'Page-header', 'Picture', \
'Section-header', 'Table', 'Text', 'Title';
- "text": what the element says: a Formula as LaTeX, a Table as HTML, a Picture not at all, all others as Markdown.
Copy the words as they are printed, in their own language. Answer with the JSON array alone."""
