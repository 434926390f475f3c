"""What the server did, in Prometheus' text."""

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tongues.serve.engine import Engine

__all__ = ["Histogram", "Metrics"]

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_PAGE = os.sysconf("SC_PAGESIZE")  # bytes, as Linux counts memory
_MEMORY = Path("/proc/self/statm")


@dataclass(slots=True)
class Histogram:
    """How long something took, in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(_BOUNDS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, **labels: str) -> Iterator[str]:
        """Its buckets, sum and count."""
        so_far = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            yield f"{name}_bucket{_labels(**labels, le=bound)} {so_far}"
        yield f"{name}_sum{_labels(**labels)} {self.total:.6f}"
        yield f"{name}_count{_labels(**labels)} {so_far}"


@dataclass(slots=True)
class Metrics:
    """Counts since the start."""

    answering: int = 0  # requests that are read, written or told
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)  # by route and status
    seconds: dict[str, Histogram] = field(default_factory=dict)  # by route
    first: Histogram = field(default_factory=Histogram)  # until a stream's first text is told

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[route, status] += 1
        self.seconds.setdefault(route, Histogram()).add(seconds)

    def text(self, engine: Engine) -> str:
        """All of it, with what the engine counted."""
        counts, lines = engine.counts, list[str]()

        def add(name: str, kind: str, what: str, values: Iterable[str] | int) -> None:
            samples = [f"{name} {values}"] if isinstance(values, int) else values
            lines.extend((f"# HELP {name} {what}", f"# TYPE {name} {kind}", *samples))

        name = "tongues_requests_total"
        by_route = (
            f"{name}{_labels(route=route, status=str(status))} {count}"
            for (route, status), count in sorted(self.requests.items())
        )
        add(name, "counter", "Requests answered.", by_route)
        name, what = "tongues_request_seconds", "From a request's headers to the end of its answer."
        times = (
            line
            for route, each in sorted(self.seconds.items())
            for line in each.lines(name, route=route)
        )
        add(name, "histogram", what, times)
        name = "tongues_first_text_seconds"
        what = "From a request's headers to the first text of a stream."
        add(name, "histogram", what, self.first.lines(name))
        add("tongues_requests_answering", "gauge", "Requests being answered.", self.answering)
        add("tongues_texts_running", "gauge", "Texts being written.", counts.running)
        add("tongues_texts_queued", "gauge", "Texts waiting to be written.", counts.queued)
        what = "Bytes of keys and values of texts that are written."
        add("tongues_held_bytes", "gauge", what, counts.held)
        add("tongues_steps_total", "counter", "Steps of the engine.", counts.steps)
        add("tongues_tokens_read_total", "counter", "Tokens of prompts.", counts.read)
        name, written = "tongues_tokens_written_total", list(counts.written.items())
        by_model = (f"{name}{_labels(model=model)} {count}" for model, count in written)
        add(name, "counter", "Tokens written.", by_model)
        if _MEMORY.is_file():
            memory = int(_MEMORY.read_text().split()[1]) * _PAGE
            add("process_resident_memory_bytes", "gauge", "Resident memory in bytes.", memory)
        return "\n".join(lines) + "\n"


def _labels(**labels: str) -> str:
    marks = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    pairs = [f'{name}="{value.translate(marks)}"' for name, value in labels.items()]
    return f"{{{','.join(pairs)}}}" if pairs else ""
