"""Every primitive op, one row each."""

from rooflight.ops import attention, elementwise, linear, norm, view
from rooflight.ops.record import Op

OPS: dict[str, Op] = {
    record.name: record for family in (linear, norm, attention, elementwise, view) for record in family.OPS
}
