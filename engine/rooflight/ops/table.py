"""Every primitive op, one row each."""

from rooflight.ops import attention, elementwise, linear, norm, routing, scan, view
from rooflight.ops.record import Op

OPS: dict[str, Op] = {
    record.name: record
    for family in (linear, norm, attention, scan, elementwise, routing, view)
    for record in family.OPS
}
