"""Random documents: Typst source, and the Markdown that a reader should write for it."""

import random
import string
from collections.abc import Callable

from training.blocks import Block, Document, Segment, markup, text
from training.content import Content, quoted
from training.fonts import MONO, SANS, SERIF
from training.page import DPI, TOKEN_HEIGHT, TOKEN_WIDTH
from training.tables import table

POINTS_PER_TOKEN = (TOKEN_HEIGHT * 72 / DPI, TOKEN_WIDTH * 72 / DPI)  # height and width of a visual token at 120 dpi


class Writer:
    """Writes documents for pages of a given size in visual tokens."""

    def __init__(self, content: Content, rng: random.Random, text_only: bool = False) -> None:
        self.content, self.rng, self.text_only = content, rng, text_only

    def document(self, num_columns: int, num_rows: int, num_pages: int) -> Document:
        height, width = num_rows * POINTS_PER_TOKEN[0], num_columns * POINTS_PER_TOKEN[1]
        large = width > 460
        usual, large_print = (8.5, 11.5 if large else 12.5), (11.5, 20)
        size = self.rng.uniform(*self.rng.choices([usual, (6.5, 8.5), large_print], [0.8, 0.1, 0.1])[0])
        text_columns = 2 if large and self.rng.random() < 0.5 else 1
        setup, columns = self._page_setup(width, height, text_columns, large, size)
        head = setup + self._text_setup(size)
        room = width * height * num_pages / (size * size * 0.72)  # in characters
        blocks = [self._front(width, height)] if text_columns == 2 and self.rng.random() < 0.4 else []
        while room > 0:
            blocks.append(self.block(width / text_columns, height))
            room -= blocks[-1].area()
        body = "\n\n".join(block.source for block in blocks)
        return Document("\n".join(head) + "\n\n" + body + "\n", blocks, columns)

    def _page_setup(
        self, width: float, height: float, text_columns: int, large: bool, size: float
    ) -> tuple[list[str], tuple[tuple[float, float], ...]]:
        """Typst's lines, and the edges of the columns."""
        rng = self.rng
        sides = {"left": 0.14, "right": 0.14, "top": 0.12, "bottom": 0.1}
        reach = {"left": width, "right": width, "top": height, "bottom": height}
        margins = {k: rng.uniform(3, min(75, reach[k] * v)) for k, v in sides.items()}
        margin = ", ".join(f"{k}: {v:.1f}pt" for k, v in margins.items())
        head = [f"#set page(width: {width:.2f}pt, height: {height:.2f}pt, margin: ({margin}), columns: {text_columns})"]
        gutter = rng.uniform(7, 26)
        head.append(f"#set columns(gutter: {gutter:.1f}pt)")
        step = (width - margins["left"] - margins["right"] + gutter) / text_columns
        lefts = [margins["left"] + number * step for number in range(text_columns)]
        columns = tuple((left, left + step - gutter) for left in lefts)
        small = size * rng.uniform(0.75, 1)
        if large and rng.random() < 0.5:
            rule = " #line(length: 100%, stroke: 0.4pt)" if rng.random() < 0.3 else ""
            head.append(f"#set page(header: [#set text(size: {small:.1f}pt); {self._running()}{rule}])")
        if large and rng.random() < 0.6:
            head.append(f"#set page(footer: [#set text(size: {small:.1f}pt); {self._running(0.5)}])")
        head.append(f"#counter(page).update({rng.randint(1, 400)})")
        return head, columns

    def _running(self, share_of_titles: float = 1.0) -> str:
        """A running head or foot, which no reader writes down: a title, the page's number, or both."""
        rng = self.rng
        number = "#context counter(page).display()"
        number = rng.choice([number, number, f"Page {number}", f"{number} of {rng.randint(9, 500)}", f"- {number} -"])
        side = rng.choice(["left", "right", "center", "center"])
        if rng.random() >= share_of_titles:
            return f"#align({side}, [{number}])"
        words = " ".join(self.content.words(1, 6))[:50]
        chapter = rng.choice(["Chapter {}", "CHAPTER {}.", "Section {}", "{}."]).format(rng.randint(1, 20))
        words = rng.choice([words, words, words.upper(), f"{chapter} {words}", f"{chapter} {words.upper()}"])
        title = rng.choice(["{}", "{}", "#emph[{}]", "#strong[{}]"]).format(quoted(words))
        pieces = [title, number] if rng.random() < 0.5 else [number, title]
        return " #h(1fr) ".join(pieces) if rng.random() < 0.5 else f"#align({side}, [{title}])"

    def _text_setup(self, size: float) -> list[str]:
        rng = self.rng
        family = rng.choice(SERIF if rng.random() < 0.6 else SANS if rng.random() < 0.85 else MONO)
        leading, shade = rng.uniform(0.4, 0.95), rng.randint(0, 60)
        spacing = leading + rng.uniform(0.35, 1.0)
        justify, hyphenate = (rng.choice(["true", "false"]) for _ in range(2))
        head = [
            f'#set text(font: "{family}", size: {size:.2f}pt, hyphenate: {hyphenate}, fill: luma({shade}))',
            f"#set par(leading: {leading:.2f}em, spacing: {spacing:.2f}em, justify: {justify})",
            f"#show heading: set block(above: {rng.uniform(0.8, 1.6):.2f}em, below: {rng.uniform(0.5, 1.1):.2f}em)",
            f'#show raw: set text(font: "{rng.choice(MONO)}", size: {rng.uniform(0.95, 1.15):.2f}em)',
        ]
        if rng.random() < 0.5:  # up to 30 pt
            most = min(3.2, 30 / size)
            head.append(f"#show heading.where(level: 1): set text(size: {rng.uniform(1.5, most):.2f}em)")
            head.append(f"#show heading.where(level: 2): set text(size: {rng.uniform(1.1, 0.7 * most):.2f}em)")
        if rng.random() < 0.3:
            head.append(f"#set list(marker: [{rng.choice('•◦·–—▪')}])")
        if rng.random() < 0.25:
            head.append(f"#set par(first-line-indent: {rng.uniform(0.8, 2):.1f}em)")
        if rng.random() < 0.3:
            head.append(f'#show heading: set text(font: "{rng.choice(SANS)}")')
        return head

    def _front(self, width: float, height: float) -> Block:
        """A title and what follows it across both columns, as papers begin."""
        blocks = [self.heading(True), *(self.block(width, height) for _ in range(self.rng.randint(0, 2)))]
        segments = blocks[0].segments
        for block in blocks[1:]:
            segments = [*segments, markup("\n\n"), *block.segments]
        inner = "\n\n".join(block.source for block in blocks)
        clear = f"clearance: {self.rng.uniform(6, 24):.1f}pt"
        source = f'#place(top, scope: "parent", float: true, {clear}, block(width: 100%)[{inner}])'
        return Block(source, segments, wide=True)

    def block(self, width: float, height: float) -> Block:
        """One block; `width` of the text column and `height` of the page in points decide what fits."""
        wide, roomy = width > 170, width > 330
        choices: list[tuple[float, Callable[[bool], Block], bool]] = [
            (0.12, self.heading, True), (0.12, self.list_, True),
            (0.16, lambda _: table(self.content, self.rng, width, height), wide),
            (0.08, self.display_formula, wide and bool(self.content.formulas)), (0.04, self.code, wide),
            (0.03, self.figure, roomy), (0.02, self.rule, wide),
        ]  # fmt: skip
        if self.text_only:
            choices = choices[:2]
        dice = self.rng.random()
        for share, make, fits in choices:
            if dice < share and fits:
                return make(roomy)
            dice -= share
        return self.paragraph(4, 110 if wide else 40)

    def paragraph(self, least: int = 4, most: int = 60) -> Block:
        """Words, now and then with emphasis, inline formulas and inline code."""
        rng, words = self.rng, self.content.words(least, most)
        if self.text_only or rng.random() < 0.7:
            return Block(quoted(" ".join(words)), [text(" ".join(words))])
        source: list[str] = []
        segments: list[Segment] = []
        while words:
            count = rng.randint(1, 9)
            phrase, words = " ".join(words[:count]), words[count:]
            piece, segment = self._phrase(phrase)
            if source:
                source.append(" ")
                segments.append(text(" "))
            source.append(piece)
            segments.extend(segment)
        return Block("".join(source), segments)

    def _phrase(self, phrase: str) -> tuple[str, list[Segment]]:
        dice = self.rng.random()
        if dice < 0.07 and self.content.formulas:
            latex, typst = self.rng.choice(self.content.short_formulas)
            return f"${typst}$", [Segment("formula", f"${latex}$")]
        if dice < 0.12 and " " not in phrase and "`" not in phrase:
            return f"#raw({quoted(phrase)[1:]})", [markup("`"), text(phrase), markup("`")]
        style = "#strong" if dice > 0.93 else "#emph" if dice > 0.83 else ""
        return (f"{style}[{quoted(phrase)}]" if style else quoted(phrase)), [text(phrase)]

    def heading(self, _roomy: bool) -> Block:
        level = self.rng.choice([1, 2, 2, 3])
        title = " ".join(self.content.words(1, 7))
        if self.rng.random() < 0.6:
            title = title[:1].upper() + title[1:].rstrip(".,;:")
        if self.rng.random() < 0.3:
            title = ".".join(str(self.rng.randint(1, 12)) for _ in range(level)) + " " + title
        return Block(f"#heading(level: {level})[{quoted(title)}]", [markup("#" * level + " "), text(title)])

    def list_(self, _roomy: bool) -> Block:
        numbered = self.rng.random() < 0.35
        source: list[str] = []
        segments: list[Segment] = []
        for number in range(1, self.rng.randint(1, 6) + 1):
            item = self.paragraph(1, self.rng.choice([6, 14, 25]))
            source.append(("+ " if numbered else "- ") + item.source)
            if number > 1:
                segments.append(markup("\n"))
            segments.append(text(f"{number}. ") if numbered else markup("- "))
            segments.extend(item.segments)
        return Block("\n".join(source), segments)

    def display_formula(self, _roomy: bool) -> Block:
        latex, typst = self.rng.choice(self.content.formulas)
        return Block(f"#block(breakable: false, width: 100%)[$ {typst} $]", [Segment("formula", f"$$ {latex} $$")])

    def code(self, _roomy: bool) -> Block:
        code = self.content.code(self.rng.randint(1, 9))
        source = f"#block(breakable: false)[#raw(block: true, {quoted(code)[1:]})]"
        return Block(source, [markup("```\n"), text(code), markup("\n```")])

    def figure(self, _roomy: bool) -> Block:
        """A grey drawing without text, and its caption."""
        rng = self.rng
        drawn = ""
        for _ in range(rng.randint(2, 9)):
            shape = rng.choice(["circle(radius", "square(size"])
            fill = f"{rng.randint(3, 20)}pt, fill: luma({rng.randint(0, 255)})"
            drawn += f"#place(dx: {rng.randint(0, 90)}%, dy: {rng.randint(0, 90)}%, {shape}: {fill}))"
        size = f"width: {rng.randint(40, 95)}%, height: {rng.randint(40, 160)}pt"
        box = f"#rect({size}, fill: luma({rng.randint(150, 255)}))[{drawn}]"
        number = "".join(rng.choice(string.digits[1:]) for _ in range(rng.randint(1, 2)))
        caption = f"{rng.choice(['Figure', 'Fig.'])} {number}{rng.choice([':', '.'])} " + " ".join(
            self.content.words(3, 20)
        )
        return Block(f"#block(breakable: false)[{box}\n\n{quoted(caption)}]", [text(caption)])

    def rule(self, _roomy: bool) -> Block:
        """A paragraph under a rule or in a frame; neither is written."""
        inner = self.paragraph(4, 40)
        if self.rng.random() < 0.5:
            return Block(f"#line(length: 100%, stroke: 0.5pt)\n{inner.source}", inner.segments)
        return Block(f"#block(stroke: 0.5pt, inset: 6pt, width: 100%)[{inner.source}]", inner.segments)
