"""A build of the browser client in miniature, as Vite and the compression after it leave one."""

import gzip
import json
from pathlib import Path
from typing import Final

SCRIPT: Final = b"import './vendor-4e5f.js'; document.title = 'Chat';\n" * 20
STYLE: Final = b"body { margin: 0 }\n"
BROTLI: Final = bytes.fromhex(
    "1b0f04e02d0e7873f052402efd0e6ec2ca93169a7219ea9a9d3034adf05266a6e4e8c021072eff124830720e36"
    "c6de720951b19a8a491d1d775ee4f853ceb29780"
)
"""The script, as Node compresses it."""
SOUND: Final = bytes(range(256))
MANIFEST: Final = {
    "src/main.tsx": {
        "file": "assets/main-1a2b.js",
        "name": "main",
        "src": "src/main.tsx",
        "isEntry": True,
        "imports": ["_vendor-4e5f.js"],
        "dynamicImports": ["src/settings.tsx"],
        "css": ["assets/main-3c4d.css"],
    },
    "_vendor-4e5f.js": {
        "file": "assets/vendor-4e5f.js",
        "imports": ["src/main.tsx"],
        "css": ["assets/vendor-6a7b.css"],
    },
    "src/settings.tsx": {"file": "assets/settings-8c9d.js", "isDynamicEntry": True},
}
LICENSES: Final = [
    {"name": "@example/vendor", "version": "1.2.0", "identifier": "MIT", "text": "..."},
]


BUILD: Final = {
    ".vite/licenses.json": json.dumps(LICENSES).encode(),
    ".vite/manifest.json": json.dumps(MANIFEST).encode(),
    "assets/main-1a2b.js": SCRIPT,
    "assets/main-1a2b.js.br": BROTLI,
    "assets/main-1a2b.js.gz": gzip.compress(SCRIPT),
    "assets/main-3c4d.css": STYLE,
    "assets/settings-8c9d.js": b"export {};\n",
    "assets/vendor-4e5f.js": b"export {};\n",
    "assets/vendor-6a7b.css": STYLE,
    "assets/ring-0a1b.mp3": SOUND,
    "assets/old-ffff.js": b"// of the version before\n",
    "sw.js": b"self.addEventListener('push', () => {});\n",
}
"""Contents by path."""


def write_build(folder: Path) -> Path:
    """Write it, and return the folder."""
    for name, content in BUILD.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
