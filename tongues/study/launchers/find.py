"""The launcher a user names."""

from importlib.util import find_spec
from shutil import which

from tongues.errors import UserError, nearest
from tongues.study.launchers.launcher import Launcher
from tongues.study.launchers.local import Local

__all__ = ["find_launcher"]

_LONGEST = "24:00:00"  # of a run in Slurm
_NAMES = ("local", "ray", "slurm")


def find_launcher(
    on: str = "local",
    *,
    workers: int | None = None,
    processes: int | None = None,
    partition: str | None = None,
    limit: str | None = None,
) -> Launcher:
    """What starts runs on `local`, `ray` or `slurm`.

    workers: runs at a time; by default one a core here, and as many as there is room for on a
    cluster. processes: of each run, by torchrun. Slurm needs a partition; `limit` is the most
    time that it gives a run, which is queued again when that is over.
    """
    processes = processes or 1
    if on not in _NAMES:
        raise UserError(f"there is no `{on}`", where="--on", hint=nearest(on, _NAMES))
    if on != "slurm" and (partition or limit):
        what, hint = "`--partition` and `--time` are Slurm's", "leave them out, or add `--on slurm`"
        raise UserError(what, where=f"--on {on}", hint=hint)
    if on == "local":
        return Local(workers, processes)
    package = "ray" if on == "ray" else "submitit"
    if not find_spec(package):
        hint = "install it with `pip install 'tongues[cluster]'`"
        raise UserError(f"`{package}` is not installed", where=f"--on {on}", hint=hint)
    if on == "ray":
        from tongues.study.launchers.ray import Ray

        return Ray(workers, processes)
    if not partition:
        hint = "name one that `sinfo` shows with `--partition`"
        raise UserError("Slurm needs a partition", where="--on slurm", hint=hint)
    if not which("sbatch"):
        what, hint = "there is no `sbatch` here", "run it where jobs are submitted"
        raise UserError(what, where="--on slurm", hint=hint)
    from tongues.study.launchers.slurm import Slurm

    return Slurm(partition, limit or _LONGEST, workers, processes)
