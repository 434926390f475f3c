"""What a run took, from its record: hours, energy and money."""

from dataclasses import dataclass

from tongues.core.hardware import OVERHEAD, Cluster, known_gpu
from tongues.core.quantities import counted, show_seconds
from tongues.runs.record import Run

_CORE = 10.0  # watts of a core of a processor, with its share of memory: assumed, not measured


@dataclass(frozen=True, slots=True)
class RunCost:
    """Of one run. energy: kWh. money: US$; None where nobody names a price."""

    hours: float
    energy: float | None
    money: float | None
    basis: str

    @property
    def sentence(self) -> str:
        """All of it, and what it rests on."""
        energy = f", about {self.energy:.2g} kWh" if self.energy is not None else ""
        money = f", about US$ {self.money:.2f}" if self.money is not None else ""
        time = show_seconds(self.hours * 3600)
        counted_time = f"{time} of training from its first step on, evaluations included"
        return f"{counted_time}{energy}{money} ({self.basis})."


def run_cost(record: Run) -> RunCost | None:
    """None where its time is not recorded, as of a run that is not finished."""
    if record.seconds is None or record.engine is None:
        return None
    engine, hours = record.engine, record.seconds / 3600
    count = engine.get("processes", 1)
    if engine.get("device", "").startswith("cpu"):
        cores = count * engine.get("threads", 1)
        basis = f"{counted(cores, 'core')}; {_CORE:g} W a core are assumed"
        return RunCost(hours, _CORE * cores * hours / 1000, None, basis)
    gpu = known_gpu(engine.get("gpu", ""))
    if gpu is None:
        return RunCost(hours, None, None, f"{count} GPUs; their draw and price are not known here")
    cluster = Cluster(gpu, count, 1.0, gpu.price)
    more = f"{OVERHEAD - 1:.0%} more for hosts and cooling"
    price = f"US$ {gpu.price:.2f} an hour, {gpu.priced}"
    basis = f"{count} × {gpu.name} at its rated draw, {more}, and {price}"
    return RunCost(hours, cluster.energy(hours), cluster.cost(hours), basis)
