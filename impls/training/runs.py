"""A run on disk: what it was asked to do, its log, its checkpoints, its best policy.

    run.json          what was asked; written once
    log.csv           one line per evaluation
    checkpoint.trace  the whole state; the run goes on from here
    best.trace        the learner that did best in the training's own evaluations
    result.json       what came of it; written when the run has ended
    lock              held while a process trains here; empty

Every file but the log is replaced whole. The checkpoint knows how long the log was, so that a run
that was killed goes on without a gap or a line twice.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from impls.errors import ConfigError
from parity.errors import InvalidInput
from parity.trace import Trace, write_atomic

COLUMNS = ("step", "updates", "episodes", "score", "evaluation", "spread", "best", "seconds")


@dataclass(frozen=True)
class Asked:
    """What a run was asked to do; with the code, all that its numbers depend on."""

    algorithm: str
    framework: str
    env: str
    seed: int
    dtype: str = "float32"
    compiled: bool = False
    threads: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)


class Folder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder: two processes that train in one would mix their logs.

        The system lets go of it when the process ends, however it ends.

        Raises:
            ConfigError: another process trains here.
        """
        try:
            import fcntl
        except ImportError:  # Windows has no such lock
            yield
            return
        with (self.path / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(f"{self.path}: another process trains here now") from None
            yield

    def create(self, asked: Asked) -> None:
        """Begin a new run.

        Raises:
            ConfigError: there is one already.
        """
        if (self.path / "run.json").exists():
            raise ConfigError(
                f"{self.path} holds a run already: --resume {self.path} goes on with it"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"--out {self.path}: {error.strerror or error}") from None
        self._write_json("run.json", asdict(asked))
        write_atomic(self.path / "log.csv", (",".join(COLUMNS) + "\n").encode())

    def asked(self) -> Asked:
        """What the run was asked to do.

        Raises:
            ConfigError: there is no run here, or its file is damaged.
        """
        try:
            found = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            return Asked(**found)
        except FileNotFoundError:
            raise ConfigError(f"{self.path}: no run here (run.json is missing)") from None
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{self.path / 'run.json'} is damaged: {error}") from None

    @property
    def log(self) -> Path:
        return self.path / "log.csv"

    def rows(self) -> list[dict[str, float]]:
        """The log; a last line that was cut off is left out."""
        text = self.log.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(whole))]

    def append(self, row: Mapping[str, Any]) -> None:
        with self.log.open("a", encoding="utf-8", newline="") as file:
            file.write(",".join(str(row[c]) for c in COLUMNS) + "\n")

    def save(self, state: Mapping[str, np.ndarray], best: float, seconds: float) -> None:
        """Write a checkpoint: all or nothing."""
        known = best if np.isfinite(best) else None  # nothing was evaluated yet
        meta = {"best": known, "seconds": seconds, "log_bytes": self.log.stat().st_size}
        Trace(dict(state), meta=meta).save(self.path / "checkpoint.trace")

    def load(self) -> tuple[dict[str, np.ndarray], float, float] | None:
        """The last checkpoint, if any; the log is cut back to where it was then.

        Returns:
            State, best evaluation, seconds trained.
        """
        path = self.path / "checkpoint.trace"
        if not path.exists():
            write_atomic(self.log, (",".join(COLUMNS) + "\n").encode())
            return None
        state, meta = _read(path)
        known = self.log.read_bytes()[: int(meta["log_bytes"])]
        write_atomic(self.log, known)
        best = -np.inf if meta["best"] is None else float(meta["best"])
        return state, best, float(meta["seconds"])

    def save_best(self, state: Mapping[str, np.ndarray], score: float, step: int) -> None:
        Trace(dict(state), meta={"score": score, "step": step}).save(self.path / "best.trace")

    def best(self) -> tuple[dict[str, np.ndarray], float, int]:
        """State of the learner that did best, its score in training, its step.

        Raises:
            ConfigError: nothing was evaluated yet.
        """
        path = self.path / "best.trace"
        if not path.exists():
            raise ConfigError(f"{self.path}: no policy was kept yet (best.trace is missing)")
        state, meta = _read(path)
        return state, float(meta["score"]), int(meta["step"])

    def finish(self, result: Mapping[str, Any]) -> None:
        self._write_json("result.json", result)

    def result(self) -> dict[str, Any] | None:
        path = self.path / "result.json"
        try:
            return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{path} is damaged: {error}") from None

    def _write_json(self, name: str, value: Mapping[str, Any]) -> None:
        text = json.dumps(value, indent=1, default=str)
        write_atomic(self.path / name, f"{text}\n".encode())


def _read(path: Path) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    try:
        trace = Trace.load(path)
    except InvalidInput as error:
        raise ConfigError(str(error)) from None
    return {name: trace[name] for name in trace.names}, trace.meta
