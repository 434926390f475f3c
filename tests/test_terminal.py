import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Mapping

import pytest

from tests.golden import inputs
from tongues.core.terminal import print_table

LIVE: str = inputs("programs")["LIVE"]
TABLES: str = inputs("programs")["TABLES"]


def on_terminal(code: str, columns: int, environment: Mapping[str, str] = {}) -> str:
    """All that a program writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    here = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    termios.tcsetwinsize(theirs, (30, columns))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**here, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    written = b""
    try:
        while block := os.read(ours, 65536):
            written += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def visible(written: str) -> list[str]:
    plain = re.sub(r"\x1b\[[?\d;]*\w", "", written.replace("\x1b[2K", "\n"))
    return [line.rstrip() for line in re.split(r"[\r\n]+", plain)]


@pytest.mark.parametrize(("columns", "environment"), [(80, {}), (44, {"NO_COLOR": "1"})])
def test_a_live_line_says_everything_in_its_width(
    columns: int, environment: dict[str, str]
) -> None:
    written = on_terminal(LIVE, columns, environment)
    lines = visible(written)
    assert max(map(len, lines)) <= columns
    words = "step 600/1,172  2 min left  loss 3.123  qaa 3.200  qab 4.100"
    words += "  rate 0.0028  24.1k tokens/s  MFU 41%  412 MB  1 spike"
    shown = "\n".join(lines)
    assert all(word in shown for word in words.split("  "))
    assert " ".join(lines).count("step 600: loss 7.91, where") == 1
    assert lines[-2:] == ["runs/yoruba", ""]
    colour = re.search(r"\x1b\[[\d;]*(?:[39][0-7]|38)[\d;]*m", written)
    assert (colour is None) == ("NO_COLOR" in environment)


def test_without_a_terminal_lines_are_plain() -> None:
    code = LIVE.replace("show(p", "import tongues.core.terminal as t; t._PLAIN_EVERY = 0; show(p")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "runs/yoruba\n"
    line = "yoruba: 51%  step 600/1,172  2 min left  loss 3.123  qaa 3.200"
    assert done.stderr.startswith(line)
    assert "\x1b" not in done.stderr


def test_columns_that_can_be_spared_go_where_a_terminal_is_narrow() -> None:
    heads = [line.split() for line in visible(on_terminal(TABLES, 80)) if line.startswith("run")]
    assert heads == [["run", "state", "age", "loss"], ["run", "state", "loss"], ["run", "state"]]


def test_a_table_without_a_terminal_is_whole(capsys: pytest.CaptureFixture) -> None:
    print_table([{"run": "a" * 300, "age": "3 h"}], optional=("age",))
    assert "a" * 300 + "  3 h" in capsys.readouterr().out
