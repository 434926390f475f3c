"""What docs/how-to/serve.md says in Python, done."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from tests.serve.serving import Server

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = Path(str(files("tongues.serve"))) / "example/ensembles"


def test_the_example_works_as_printed(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "how-to/serve.md").read_text(), re.DOTALL)
    code = code.replace("http://127.0.0.1:8000/", server.url)
    exec(compile(code, "serve.md", "exec"), {})
    *_, last = capsys.readouterr().out.splitlines()
    assert "['e0', 'e1', 'e2']" in last
    assert re.search(r"\[\[\d\.\d", last)


def test_curl_asks_for_the_example_that_the_page_serves() -> None:
    asked = re.findall(r'-d \'\{"model": "([^"]+)"', (DOCS / "how-to/serve.md").read_text())
    assert asked == [folder.name for folder in EXAMPLE.iterdir()]
