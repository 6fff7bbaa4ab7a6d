"""A fitted model as a page of a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

_LINES = (
    ("rows", "rows", "{:,}"),
    ("λ", "lambda", "{:.4g}"),
    ("exponent", "exponent", "{:g}"),
    ("effective ridge", "effective_ridge", "{:.4g}"),
    ("‖f‖", "norm", "{:.4g}"),
    ("degrees of freedom", "dof", "{:.4g}"),
    ("training RMSE", "train_rmse", "{:.4g}"),
    ("leave-one-out RMSE", "loo_rmse", "{:.4g}"),
    ("coefficients that are not 0", "support", "{:,}"),
    ("share of wrong classes in training", "train_error", "{:.4g}"),
)


def verdict(certificate: dict[str, Any]) -> str:
    """The certificate in a sentence."""
    if not certificate["holds"]:
        return f"without certificate: {certificate['reason']}"
    gap = certificate.get("duality_gap")
    if gap is not None:
        return f"certified: within {gap:.1e} of the least objective"
    low_rank = certificate.get("low_rank")
    if low_rank is not None:
        return "certified on landmarks"
    return f"certified: the global minimum, {certificate['digits']:g} digits of the predictions are certain"


def page(name: str, kernel: str, summaries: list[dict[str, Any]]) -> str:
    """One column per target."""
    shown = summaries[:12]
    head = "".join(f"<th>{escape(str(summary['target']))}</th>" for summary in shown)
    rows = ""
    for label, key, form in _LINES:
        cells = [summary.get(key) for summary in shown]
        if all(cell is None for cell in cells):
            continue
        rows += f"<tr><th>{escape(label)}</th>" + "".join(f"<td>{'' if c is None else form.format(c)}</td>" for c in cells) + "</tr>"
    verdicts = "".join(f"<td>{escape(verdict(summary['certificate']))}</td>" for summary in shown)
    rest = f"<p>and {len(summaries) - len(shown)} more</p>" if len(summaries) > len(shown) else ""
    return (
        f"<div><b>{escape(name)}</b>, kernel <code>{escape(kernel)}</code>, loss <code>{escape(shown[0]['loss'])}</code>"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}<tr><th>certificate</th>{verdicts}</tr></tbody></table>{rest}</div>"
    )
