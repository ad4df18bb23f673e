"""The measurements for people."""

from typing import Any

from rich.table import Table

from .speed import CHAIN, ROWS, RUNS


def speeds(found: dict[str, Any]) -> Table:
    """How fast models train."""
    machine, peak = found["machine"], found["gemm_gflops"]
    title = (
        f"{machine['processor']}, {machine['cores']} cores, jax {found['jax']}: GEMM "
        f"{peak['one worker']:.0f} GFLOP/s on one core, {peak['all workers']:.0f} on all; "
        f"{ROWS} free-running chains of {CHAIN} in {found['rollout_seconds']:.2g} s on one core"
    )
    result = Table(box=None, pad_edge=False, header_style="bold", caption=title)
    seeds = ", ".join(map(str, RUNS))
    for column in ("training", "GFLOP/s", "of peak", "steps/s", "all workers", f"{seeds} seeds"):
        result.add_column(column, justify="left" if column == "training" else "right")
    for name, row in found["training"].items():
        one, *rest = row["steps_per_second"].values()
        more = f"×{rest[-1] / one:.2f}" if rest else "–"
        rates = found["seeds"].get(name)
        scaling = " ".join(f"×{rate / rates['1']:.1f}" for rate in rates.values()) if rates else ""
        fraction = f"{row['fraction_of_peak']:.0%}"
        steps = f"{one:,.0f}" if one >= 100 else f"{one:.3g}"
        result.add_row(name, f"{row['gflops']:.0f}", fraction, steps, more, scaling)
    return result


def verdicts(found: dict[str, Any]) -> Table:
    """How long a claim takes from nothing to a verdict."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("to a verdict, from nothing", "seconds", "largest process"):
        result.add_column(column, justify="left" if column.startswith("to") else "right")
    for name, row in found.items():
        result.add_row(name, f"{row['seconds']:.0f}", f"{row['memory'] / 1e6:.0f} MB")
    return result


def races(found: dict[str, Any]) -> Table:
    """The same in PyTorch."""
    caption = (
        "Seconds to a verdict: ours with an empty store and nothing compiled, then with its "
        "programs compiled; PyTorch's for the same steps and as many rows at each evaluation. "
        "× is against its better mode: the first time, and again."
    )
    result = Table(box=None, pad_edge=False, header_style="bold", caption=caption)
    for column in ("against PyTorch", "ours", "again", "eager", "compiled", "×", "memory"):
        result.add_column(column, justify="left" if column.startswith("against") else "right")
    for family, row in found.items():
        seconds = [f"{row[who]['seconds']:.0f}" for who in ("ours", "again", "eager", "compiled")]
        times = f"×{row['times_as_fast']:.1f} ×{row['times_as_fast_again']:.1f}"
        memory = f"×{row['memory_ratio']:.2f}"
        result.add_row(family, *seconds, times, memory)
    return result
