#!/usr/bin/env python3
"""Every write, fsync and rename of a save, with every fault (TRUST D1).

usage: save_faults.py PATH_TO_MERCER

For each system call that a save makes and each of its occurrences, the call is made to fail (no space, I/O error,
no permission) or the program is killed there (strace does it). Afterwards the model file must be the old one or a
whole new one, and an exit code of 0 must mean the new one. Needs strace; without it the check is skipped, loudly.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = ["write", "pwrite64", "writev", "fsync", "fdatasync", "rename", "renameat", "renameat2", "openat", "fchmod"]
FAULTS = ["error=ENOSPC", "error=EIO", "error=EACCES", "signal=KILL"]
MOST = 400


def main() -> int:
    mercer = Path(sys.argv[1]).resolve()
    if shutil.which("strace") is None:
        print("save_faults: skipped, strace is not installed")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return run(mercer, Path(folder))


def run(mercer: Path, folder: Path) -> int:
    table, model, log = folder / "table.csv", folder / "model.mercer", folder / "strace.log"
    subprocess.run([mercer, "generate", "sinc", "--rows", "30", "--output", table], check=True)
    fit = [mercer, "--quiet", "--threads", "1", "fit", table, "--target", "y", "--output", model]
    subprocess.run([*fit, "--lambda", "0.5"], check=True)
    old = model.read_bytes()
    save = [*fit, "--lambda", "0.001"]
    injected = damaged = silent = killed = 0
    for call in CALLS:
        for fault in FAULTS:
            for occurrence in range(1, MOST + 1):
                model.write_bytes(old)
                log.write_text("")
                traced = ["strace", "-f", "-qq", "-o", log, "-e", f"trace={call}"]
                inject = ["-e", f"inject={call}:{fault}:when={occurrence}"]
                result = subprocess.run([*traced, *inject, *save], capture_output=True)
                hit = "INJECTED" in log.read_text() or result.returncode < 0 or result.returncode in (137,)
                if not hit:
                    break
                injected += 1
                killed += "KILL" in fault
                now = model.read_bytes() if model.exists() else None
                is_new = now != old and now is not None and is_valid(mercer, model)
                if now != old and not is_new:
                    damaged += 1
                    print(f"DAMAGED after {call} {fault} #{occurrence}")
                if result.returncode == 0 and not is_new:
                    silent += 1
                    print(f"SUCCESS REPORTED BUT NOT SAVED after {call} {fault} #{occurrence}")
    # What a killed save left behind goes away with the next one.
    subprocess.run(save, check=True)
    left = [path.name for path in folder.glob(".tmp*")]
    print(f"save_faults: {injected} faults ({killed} kills), {damaged} damaged, {silent} silent, left over {left}")
    return 0 if injected >= 20 and damaged == 0 and silent == 0 and not left else 1


def is_valid(mercer: Path, model: Path) -> bool:
    return subprocess.run([mercer, "inspect", model], capture_output=True).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
