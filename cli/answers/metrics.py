"""The answer of `import-metrics`."""

from __future__ import annotations

from dataclasses import asdict

from cli.made import Made
from cli.pages.metrics import metrics_page
from cli.present import Answer
from cli.tables.measured.metrics import metrics_shown
from models.basis.described import DescribedSpec
from validate.metrics.measured import Measured
from validate.metrics.utilisation import Compared
from validate.metrics.workload import workload_fields, workload_notes


def metrics_answer(whole: Measured, result: list[Compared], read: DescribedSpec, spec: str, made: Made) -> Answer:
    """Return what is shown of metrics: the workload, and each figure next to its forecast."""
    notes = list(workload_notes(whole))
    found = {
        "start_s": whole.start_s,
        "end_s": whole.end_s,
        "workload": workload_fields(whole, read.spec.workload),
        "notes": notes,
        "inner": [asdict(each) for each in whole.inner],
        "counts": whole.counts,
        "compared": result,
    }
    return Answer(
        found,
        lambda: metrics_shown(whole, result, notes),
        made,
        page=lambda: metrics_page(whole, result, notes, spec),
    )
