"""The conformance suite of `JobStore`: every store passes all of it.

Subclass it in a test module and say how to make a store, and how to let time pass:

    class TestMemoryStore(JobStoreSuite):
        async def make_store(self, limits): ...
        async def let_pass(self, seconds): ...
"""

from job_admission_suite import JobAdmissionSuite
from job_events_suite import JobEventsSuite
from job_lease_suite import JobLeaseSuite
from job_reading_suite import JobReadingSuite


class JobStoreSuite(JobAdmissionSuite, JobReadingSuite, JobLeaseSuite, JobEventsSuite):
    """All of it."""
