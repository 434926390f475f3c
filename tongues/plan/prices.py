"""Prices of accelerators from a table of the user's own."""

from dataclasses import replace
from pathlib import Path

from tongues.errors import UserError
from tongues.hardware import GPUS, Gpu
from tongues.tables import read_table
from tongues.tables.files import cell_number

__all__ = ["read_prices"]

_NEW = ("tflops", "gigabytes", "watts")


def read_prices(path: Path) -> dict[str, Gpu]:
    """The accelerators with the prices of a table: columns `gpu`, `price` and `date`.

    New accelerators have `tflops` (dense bfloat16), `gigabytes` and `watts` too.
    """
    gpus, table = dict(GPUS), read_table([path])
    for i, where in enumerate(table.places):
        row = {column: cells[i] for column, cells in table.columns.items()}
        name, price = str(row.get("gpu") or "").lower(), cell_number(row.get("price"))
        peak, memory, watts = (cell_number(row.get(column)) for column in _NEW)
        known = gpus.get(name)
        if known is None and name and peak and memory and watts:
            known = Gpu(name, peak * 1e12, memory * 1e9, price or 0.0, watts)
        if known is None or price is None or not price > 0:
            hint = "columns gpu, price and date; a new GPU has tflops, gigabytes and watts too"
            hint += "; decimals have a point: 1.99" if "," in str(row.get("price")) else ""
            raise UserError(f"no price of `{name}` can be read", where=where, hint=hint)
        gpus[name] = replace(known, price=price, priced=str(row.get("date") or path.name))
    return gpus
