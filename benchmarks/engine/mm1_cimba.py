"""M/M/1 on cimba: two processes and a container, as its README has it. A model of its own module, as cimba wants."""

import cimba
from cimba import inputs

RHO = 0.8


class MM1(cimba.Model):
    """One exponential server."""

    interarrival: cimba.Input[float] = inputs.dist.exponential(mean=1.0)
    service_time: cimba.Input[float] = inputs.dist.exponential(mean=RHO)
    queue: cimba.Container
    mean_queue: cimba.Output[float]

    @cimba.process
    def arrivals(self):
        """Customers come."""
        while True:
            cimba.hold(self.interarrival.next())
            self.queue.put(1)

    @cimba.process
    def server(self):
        """Customers are served."""
        while True:
            self.queue.get(1)
            cimba.hold(self.service_time.next())

    @cimba.on_end
    def measure(self):
        """What the run is for."""
        self.mean_queue = self.queue.mean_level()


_model = MM1()


def mm1_cimba(count: int) -> None:
    """About `count` customers: as long as it takes them to arrive at one a second."""
    window = cimba.Window(warmup=0, duration=float(count))
    cimba.Experiment(_model, replications=1, window=window, seed=123).run()
