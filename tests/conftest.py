"""Settings of the whole suite."""

from hypothesis import HealthCheck, settings

# Examples are derived from the test itself: the same ones on every machine and in every run.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("suite")
