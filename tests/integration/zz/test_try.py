import os
from pathlib import Path
from typing import Any
import pytest
from tests.integration.tutorials.life import Life

pytestmark = pytest.mark.testbed


def test_try(bed: Any, tmp_path: Path) -> None:
    life = Life(bed, tmp_path)
    for words in (
        ("adopt.yml", "--check"),
        ("adopt.yml", "-e", "adopt_sure=true"),
        ("adopt.yml", "-e", "adopt_sure=true"),
        ("onboard.yml",),
    ):
        ran = life.play(*words)
        with open("/work/w-look-out.txt", "a") as f:
            f.write(f"==== {words} {ran.code}\n{ran.text}\n")
        print(ran.text)
    with open("/work/w-look-out.txt", "a") as f:
        f.write(life.scene.inventory.read_text())
