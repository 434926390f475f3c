"""Stages: the speed of SmolLM2-135M and of a 1B shape, and where the time of a step goes."""

from collections import defaultdict

from common import Bench, measure, set_up, wait_for_device
from torch.profiler import ProfilerActivity, profile

from tongues.train.step import BatchLoader, gradient, update

KERNELS = 15  # of the table
LARGEST = 16_000_000  # bytes of a trace that is kept
OURS = "ours 1B"  # the figure that peers are compared with


def smollm2(bench: Bench) -> None:
    """SmolLM2-135M, all of it trained: compiled, and not."""
    for label, changes in (
        ("SmolLM2-135M compiled", ("train.compile=on",)),
        ("SmolLM2-135M not compiled", ("train.compile=off",)),
    ):
        with bench.attempt(label):
            measure(bench, label, bench.plan(*changes, base=bench.smollm2), bench.smollm2)


def ours_1b(bench: Bench) -> None:
    """The 1B shape from random weights: compiled, and not; with smaller micro-batches."""
    small = bench.sizes.context * 4
    variants: list[tuple[str, tuple[str, ...]]] = [
        ("compiled", ()),
        ("not compiled", ("train.compile=off",)),
        (f"compiled, micro-batch {small}", (f"train.micro_batch={small} tokens",)),
        ("compiled, recompute", ("train.recompute=true",)),
    ]
    for label, changes in variants[:2] if bench.rehearse else variants:
        with bench.attempt(label):
            name = OURS if label == "compiled" else None
            measure(bench, f"{bench.sizes.billion.name} {label}", bench.plan(*changes), name=name)


def profile_1b(bench: Bench) -> None:
    """Three steps of the 1B shape, of one micro-batch each, by kernel; the trace is kept."""
    size = int(bench.kept(f"{OURS} micro-batch") or 8 * bench.sizes.context)
    plan = bench.plan(f"train.batch={size} tokens", f"train.micro_batch={size} tokens")
    setup, _ = set_up(bench, plan, label="profile")
    loader = BatchLoader(setup)
    kinds = [ProfilerActivity.CPU]
    kinds += [ProfilerActivity.CUDA] if bench.device.type == "cuda" else []
    for step in range(2):
        gradient(setup, loader, step, ())
        update(setup, 1e-5)
    wait_for_device()
    with profile(activities=kinds) as recorded:
        for step in range(2, 5):
            gradient(setup, loader, step, ())
            update(setup, 1e-5)
        wait_for_device()
    cuda = bench.device.type == "cuda"
    times: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in recorded.key_averages():
        # Operators and annotations have the time of the kernels that they start, too.
        if cuda and (row.is_user_annotation or not str(row.device_type).endswith("CUDA")):
            continue
        times[row.key[:70]][0] += row.self_device_time_total if cuda else row.self_cpu_time_total
        times[row.key[:70]][1] += row.count
    whole = sum(values[0] for values in times.values())
    bench.say(f"{whole / 3e3:.1f} ms a step of {size:,} tokens in kernels")
    for key, values in sorted(times.items(), key=lambda pair: -pair[1][0])[:KERNELS]:
        line = f"{values[0] / 3e3:8.2f} ms {values[0] / whole:6.1%} {values[1] / 3:6.0f} x  {key}"
        bench.say(line)
    trace = bench.out / "trace.json.gz"
    recorded.export_chrome_trace(str(trace))
    if trace.stat().st_size > LARGEST:
        bench.say(f"the trace is not kept: {trace.stat().st_size / 1e6:.0f} MB")
        trace.unlink()
