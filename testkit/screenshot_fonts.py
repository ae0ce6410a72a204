"""Fonts that pages are shown in for pictures, whatever the machine has: Debian's, unpacked.

`python -m testkit.screenshot_fonts` prints the path of a configuration for `FONTCONFIG_FILE`.
"""

import sys
from pathlib import Path
from typing import Final

from testkit.test_services import unpack

FONTS: Final = Path(sys.prefix) / "fonts"
PACKAGES: Final = ("fonts-inter", "fonts-jetbrains-mono", "fonts-noto-color-emoji")
CONFIGURATION: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{fonts}</dir>
  <alias binding="strong"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong">
    <family>monospace</family><prefer><family>JetBrains Mono</family></prefer>
  </alias>
  <alias binding="strong">
    <family>ui-monospace</family><prefer><family>JetBrains Mono</family></prefer>
  </alias>
</fontconfig>
"""


def font_configuration() -> Path:
    """Return the configuration, with the fonts unpacked beside it."""
    for package in PACKAGES:
        unpack(package, FONTS / package)
    path = FONTS / "fonts.conf"
    path.write_text(CONFIGURATION.format(fonts=FONTS))
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{font_configuration()}\n")
