"""One file a model family, each with `parse(text, width, height) -> Reply`: raw Markdown and regions of one page.

`width` and `height` are the pixels of the picture that the model saw. No parser ever raises: a reply it can't make
out is plain text.
"""
