from __future__ import annotations

import pytest

from models.spec import spec_of
from sim.simulate import simulate
from tests.test_spec import EXAMPLE
from traces.errors import InputError
from traces.generate import generate
from traces.yaml_input import load_mapping, override
from validate.calibrate import Measurement, Parameter, calibrate

SPEC = override(load_mapping(EXAMPLE), ["workload.duration=null", "workload.operations=8000"])
PARAMETERS = [
    Parameter("host.cpu.GET.constant", 1e-5, 1e-1),
    Parameter("host.cpu.GET.distribution.cv", 0.05, 3),
    Parameter("drives.commit.constant", 1e-5, 1e-1),
]
TRUTH = {"host.cpu.GET.constant": 0.0012, "host.cpu.GET.distribution.cv": 1.1, "drives.commit.constant": 0.004}


def measured(clients: int, seed: int) -> Measurement:
    """A Run of the hidden truth."""
    data = override(SPEC, [f"workload.clients={clients}", *(f"{k}={v}" for k, v in TRUTH.items())])
    spec = spec_of(data, "truth")
    trace = generate(spec.workload, seed=1)
    return Measurement(trace, simulate(spec, trace, seed=seed))


def test_hidden_parameters_are_found_with_other_random_numbers():
    fit = calibrate(SPEC, [measured(1, seed=11), measured(4, seed=12)], PARAMETERS, seed=0)
    for path, truth in TRUTH.items():
        assert fit.values[path] == pytest.approx(truth, rel=0.12), path
    assert fit.rms_log_error < 0.06


def test_the_same_input_gives_the_same_fit():
    measurements = [measured(1, seed=11)]
    fits = [calibrate(SPEC, measurements, PARAMETERS[:1], seed=0).values for _ in range(2)]
    assert fits[0] == fits[1]


@pytest.mark.parametrize(
    ("path", "said"),
    [("host.cpu.GIT.constant", "not in the spec"), ("client.cpu.GET.distribution.kind", "first guess")],
)
def test_a_parameter_that_cannot_be_fitted_is_refused(path, said):
    with pytest.raises(InputError, match=said):
        calibrate(SPEC, [measured(1, seed=1)], [Parameter(path, 0.1, 1)])


def test_nothing_to_fit_is_refused():
    with pytest.raises(InputError, match="at least one"):
        calibrate(SPEC, [], PARAMETERS)
    with pytest.raises(InputError, match="bounds"):
        Parameter("a", 1, 1)
