"""Everything else is in setup.cfg; a built package has its catalogues of translations compiled."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup
from setuptools.command.build_py import build_py

LOCALES = Path("server", "i18n", "locales")


class BuildWithCatalogues(build_py):
    """Replace each catalogue's source by its compiled form."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # a checkout compiles them at their first use
        built = Path(self.build_lib, LOCALES)
        for source in LOCALES.glob("*.po"):
            with source.open(encoding="utf-8") as text:
                messages = read_po(text, ignore_obsolete=True)
            with (built / source.name).with_suffix(".mo").open("wb") as content:
                write_mo(content, messages)
            (built / source.name).unlink(missing_ok=True)


setup(cmdclass={"build_py": BuildWithCatalogues})
