"""The project's folders, as tests need them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
LARGE = EXAMPLES / "ceph" / "exabyte.yaml"
"""An example of a large cluster, which takes too long for tests of all examples and has one of its own."""
SPECS = sorted(path for path in EXAMPLES.rglob("*.yaml") if "campaigns" not in path.parts and path != LARGE)
"""Examples but for campaigns, which name specs: specs, and files that belong to them."""
SAMPLES = ROOT / "tests" / "samples"
