import json
from pathlib import Path

FORMATS = {"json": "audit.json"}


def write(report, folder, formats):
    Path(folder).mkdir(exist_ok=True, parents=True)
    (Path(folder) / "audit.json").write_text(json.dumps(report, indent=1))
