"""The project's folders, as tests need them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SPECS = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.parent.name != "campaigns")
"""Examples but for campaigns, which name specs: specs, and files that belong to them."""
SAMPLES = ROOT / "tests" / "samples"
