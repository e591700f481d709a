"""python -m fastocr_cli: the same as the `fastocr` command."""

from fastocr_cli.cli import main

if __name__ == "__main__":
    main()
