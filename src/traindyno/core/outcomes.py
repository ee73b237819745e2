"""The ways in which a trial can end."""

from enum import StrEnum


class Outcome(StrEnum):
    """How a trial ended. Everything but `OK` is a failure, and a failure is data."""

    OK = "ok"
    OUT_OF_DEVICE_MEMORY = "out_of_device_memory"
    OUT_OF_HOST_MEMORY = "out_of_host_memory"
    OUT_OF_SHARED_MEMORY = "out_of_shared_memory"
    CUDA_FAULT = "cuda_fault"
    CRASH = "crash"
    HANG = "hang"
    TIMEOUT = "timeout"
    KILLED = "killed"
    USER_ERROR = "user_error"
    DATA_ERROR = "data_error"
    NONFINITE = "nonfinite"
    INTERRUPTED = "interrupted"
    INFRASTRUCTURE = "infrastructure"

    @property
    def out_of_memory(self) -> bool:
        """Whether the batch was too large for the device's (or, on a CPU, the host's) memory."""
        return self in (Outcome.OUT_OF_DEVICE_MEMORY, Outcome.OUT_OF_HOST_MEMORY)

    @property
    def stops_study(self) -> bool:
        """Whether further trials cannot help: the user's code or data must be mended first."""
        return self in (Outcome.USER_ERROR, Outcome.DATA_ERROR)


REMEDIES: dict[Outcome, str] = {
    Outcome.OUT_OF_DEVICE_MEMORY: "Use a smaller batch or image, a lower precision, or free the device's memory.",
    Outcome.OUT_OF_HOST_MEMORY: "Use a smaller batch, fewer loader workers, or raise --memory-limit.",
    Outcome.OUT_OF_SHARED_MEMORY: "Enlarge /dev/shm (docker: --shm-size 8g), or use fewer workers or a smaller batch.",
    Outcome.CUDA_FAULT: "Run with CUDA_LAUNCH_BLOCKING=1 to find the kernel; check label ranges and the driver log.",
    Outcome.CRASH: "Native code ended the process: read the end of the log, then try without custom extensions.",
    Outcome.HANG: "No step finished in time: read the stack at the end of the log, or raise --step-timeout.",
    Outcome.TIMEOUT: "The trial made progress but outlived its limit: raise --trial-timeout or use a smaller workload.",
    Outcome.KILLED: "Something outside traindyno killed the trial: check the system log, then run the study again.",
    Outcome.USER_ERROR: "The model's or job's own code raised: mend it at the last line of the traceback.",
    Outcome.DATA_ERROR: "Reading the data raised: mend the file or dataset named in the traceback.",
    Outcome.NONFINITE: (
        "Look for NaN in the data and in what model and loss return; where it comes only after some steps, lower the "
        "optimiser's learning rate or use a wider precision."
    ),
    Outcome.INTERRUPTED: "The study was stopped: continue it with `traindyno resume`.",
    Outcome.INFRASTRUCTURE: "The trial could not be run: check disk space and permissions, then `traindyno doctor`.",
}
_READ_LOG = "read the end of the log, then "
_REMEDIES_WITHOUT_LOG: dict[Outcome, str] = {
    Outcome.CRASH: (
        "Run the model in a script of its own, and look for os._exit or an extension in C that ends the process."
    ),
    Outcome.HANG: "No step finished in time: raise --step-timeout, or see in a script of its own where it stands.",
}


def remedy_without_log(outcome: Outcome, remedy: str) -> str:
    """What is left of a remedy that begins with the log where nothing was printed, so that there is none."""
    if remedy != REMEDIES[outcome] and _READ_LOG in remedy:
        return remedy.replace(_READ_LOG, "")
    return _REMEDIES_WITHOUT_LOG.get(outcome, REMEDIES[outcome])
