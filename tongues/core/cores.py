"""The processor's cores that this process may use, for how many threads, and how those wait."""

import math
import os
import sys
import time
from pathlib import Path

_BETWEEN = 0.01  # seconds between looks at what else computes


def core_count() -> int:
    """The processor's cores that this process may use, by its affinity and control groups."""
    return max(1, min(len(os.sched_getaffinity(0)), math.ceil(min(cpu_quota(), 1e9))))


def threads_for(processes: int = 1) -> int:
    """Threads for each of that many processes at a time: a share of the cores.

    At most OMP_NUM_THREADS; but not the 1 that torchrun sets itself for several processes.
    """
    share, named = max(1, core_count() // processes), os.environ.get("OMP_NUM_THREADS", "")
    most = named.split(",")[0].strip()
    torchruns = most == "1" and "TORCHELASTIC_RUN_ID" in os.environ
    return min(share, max(1, int(most))) if most.isdigit() and not torchruns else share


def cpu_quota(
    mounted: Path = Path("/sys/fs/cgroup"), groups: Path = Path("/proc/self/cgroup")
) -> float:
    """The cores that Linux's control groups grant, of version 1 or 2; infinite without a limit."""
    quotas = [math.inf]
    for line in groups.read_text(encoding="utf-8").splitlines() if groups.is_file() else ():
        _, controllers, path = line.split(":", 2)  # version 2 names no controllers
        if controllers and "cpu" not in controllers.split(","):
            continue
        place = mounted / controllers / path.strip("/")
        quotas += [_quota(folder) for folder in (place, *place.parents)]  # each limits all below
    return min(quotas)


def _quota(folder: Path) -> float:
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        else:
            files = (folder / f"cpu.cfs_{name}_us" for name in ("quota", "period"))
            quota, period = (file.read_text(encoding="utf-8") for file in files)
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError):  # no limit is set here
        return math.inf


def wait_politely() -> None:
    """Have OpenMP's threads sleep while they wait, where other programs compute here too.

    Otherwise a thread that waits keeps its core from the one it waits for. OpenMP reads this when
    it is loaded, so it must come before torch; what the user sets holds.
    """
    if "torch" in sys.modules or {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        return
    if _is_shared():
        os.environ["OMP_WAIT_POLICY"] = "passive"


def _is_shared() -> bool:
    """Whether all our threads and what runs now are more than the cores."""
    if cpu_quota() < len(os.sched_getaffinity(0)):
        return True
    load, others = Path("/proc/loadavg"), []
    for _ in range(3 if load.is_file() else 0):
        running = load.read_text(encoding="utf-8").split()[3].split("/")[0]
        others.append(int(running) - 1)
        time.sleep(_BETWEEN)
    return min(others, default=0) + threads_for() > (os.cpu_count() or 1)
