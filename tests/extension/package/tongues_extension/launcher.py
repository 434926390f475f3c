"""A launcher that starts each job by its command line, as a cluster would."""

import subprocess
import time

from tongues.core.launch import Job, Launcher, Options, command_line, why_ended


class Apart(Launcher):
    """One process after another, each in a session of its own."""

    name, summary = "apart", "Sessions of this machine."
    takes = ("partition",)
    here = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def threads(self, jobs: int) -> int:
        """One each."""
        return self.processes

    def has_room(self, job: Job) -> bool:
        """For one at a time, unless more were asked for."""
        return len(self._running) < (self.workers or 1)

    def start(self, job: Job) -> None:
        """Start its command line."""
        print(f"apart: {job.name}", flush=True)
        self._running[job.name] = subprocess.Popen(command_line(job), start_new_session=True)

    def ended(self, seconds: float) -> dict[str, str]:
        """Those that are gone."""
        time.sleep(seconds)
        codes = {name: process.poll() for name, process in self._running.items()}
        gone = {name: why_ended(code) for name, code in codes.items() if code is not None}
        for name in gone:
            del self._running[name]
        return gone

    def stop(self) -> None:
        """Ask them to end, and wait."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait()
