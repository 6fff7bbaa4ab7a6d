"""What the core is told. Every key is there; defaults are known to the classes."""

from __future__ import annotations

from typing import TypedDict


class Columns(TypedDict):
    """Which column is what."""

    targets: list[str]
    weight: str | None
    group: str | None
    groups_are_folds: bool
    categorical: list[str]


class Reading(TypedDict):
    """How a table is read, and what may be used."""

    scale: str | None
    missing: str
    text: str
    offset: bool
    memory: int | None
    seed: int


class Choosing(TypedDict):
    """What λ, exponent and kernel are chosen from, and by what."""

    kernels: list[str]
    exponents: list[float]
    lambdas: list[float] | None
    criterion: str | None
    on_grid: bool
    one_standard_error: bool
    clip: bool


class Size(TypedDict):
    """Whether landmarks stand for all rows."""

    rank: int | None
    accuracy: float | None
    exact: bool


class LossSettings(TypedDict):
    """What belongs to a loss."""

    losses: list[str]
    tolerance: float
    multinomial: bool
    probabilities: bool
    non_crossing: bool
    class_weights: list[tuple[str, float]]
