"""Which machines may train together, what makes them unlike, and the secret by which they know each other."""

from collections.abc import Iterator, Mapping, Sequence

from traindyno.core.errors import UsageError
from traindyno.core.machine import MachineFacts
from traindyno.core.records import WorkloadSpec
from traindyno.core.requests import ScaleRequest
from traindyno.core.units import count_of
from traindyno.machine.gpu import cuda_index
from traindyno.runner.node_link import parse_address
from traindyno.runner.node_messages import Hello, Refusal

TOKEN_VARIABLE = "TRAINDYNO_TOKEN"
SHORTEST_TOKEN = 16
MAKE_TOKEN = f'export {TOKEN_VARIABLE}="$(python3 -c "import secrets; print(secrets.token_hex(16))")"'


HEAD_TOKEN = f"type {MAKE_TOKEN} here, and set the same value on the other machines"
AGENT_TOKEN = f"set {TOKEN_VARIABLE} here to the value that it has on the head, at least {SHORTEST_TOKEN} characters"


def token_from(environment: Mapping[str, str], hint: str = HEAD_TOKEN) -> bytes:
    """The secret that all machines of a study share; without one, or with one that can be guessed, nothing listens."""
    token = environment.get(TOKEN_VARIABLE, "")
    if not token:
        raise UsageError(f"machines know each other by a secret, and {TOKEN_VARIABLE} is not set", hint)
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"{TOKEN_VARIABLE} has {len(token)} characters, which can be guessed", hint)
    return token.encode()


def check_nodes(request: ScaleRequest) -> None:
    """Refuse what could only fail once machines wait for each other."""
    if request.nodes < 1:
        raise UsageError("no machines cannot train anything", "--nodes counts this machine too, and starts at 1")
    if request.nodes == 1:
        if request.listen is not None:
            raise UsageError("--listen is for several machines", "add --nodes N, or leave it away")
        return
    if request.bench.executor == "ray":
        raise UsageError(
            "a lane of a Ray cluster is one device, and groups over several machines are not run there",
            "leave --executor ray away, and run `traindyno agent` on the other machines",
        )
    if request.listen is None and not request.bench.runner.startswith("simulated"):
        raise UsageError(
            "several machines meet at an address of this one",
            "add --listen HOST:PORT, with the address by which the others reach it",
        )
    if request.listen is not None:
        parse_address(request.listen)
    if not request.devices:
        raise UsageError(
            "how many devices the other machines have is not known here",
            f"say how many to use on all machines together: --devices 1,{request.nodes},{2 * request.nodes}",
        )
    if not any(count % request.nodes == 0 for count in request.devices):
        example = f"{request.nodes},{2 * request.nodes}"
        raise UsageError(
            f"no count of devices spreads evenly over {request.nodes} machines",
            f"--devices are those of all machines together, such as --devices {example}",
        )


def refusal(hello: Hello, head: MachineFacts, workload: WorkloadSpec, device: str, devices: int) -> Refusal | None:
    """Why a machine cannot take part, or nothing. `devices` are how many it must have."""
    guest = hello.machine
    for what in ("traindyno", "torch"):
        here, there = getattr(head, what), getattr(guest, what)
        if here != there:
            return Refusal(
                message=f"it has {what} {there}, and the head has {what} {here}",
                hint=f"install the same version of {what} on all machines",
            )
    if cuda_index(device) is not None and len(guest.gpus) < devices:
        has = count_of(len(guest.gpus), "GPU")
        return Refusal(
            message=f"it has {has}, and {devices} are needed", hint="ask for fewer --devices or more --nodes"
        )
    return _code_refusal(hello, workload)


def _code_refusal(hello: Hello, workload: WorkloadSpec) -> Refusal | None:
    """Code of the user's own runs on a machine only where that machine's own command line names it, as the head does.

    Under another name it would not be found: all ranks have their trial from the head.
    """
    if not workload.runs_user_code or (workload.model, workload.source_sha256) in hello.code:
        return None
    return Refusal(
        message=f"the study runs code from {workload.model}, which its command line does not name as it is here",
        hint=f"start it in a folder where the same file lies at the same path, with --model {workload.model}",
    )


def unlike_machines(head: MachineFacts, others: Sequence[tuple[str, MachineFacts]], device: str) -> tuple[str, ...]:
    """Sentences on how the other machines, by name, differ from the head in what numbers depend on."""
    return tuple(
        f"{name} is unlike the head ({'; '.join(found)}): the slower of them sets the pace of both."
        for name, facts in others
        if (found := list(_differences(head, facts, device)))
    ) + tuple(
        f"{name} is the same machine as the head: they share its processors, and no network lies between them."
        for name, facts in others
        if facts.hostname == head.hostname
    )


def _differences(head: MachineFacts, other: MachineFacts, device: str) -> Iterator[str]:
    for what, words in (
        ("cpu_model", "processor"),
        ("cpus_usable", "usable CPUs"),
        ("cuda", "CUDA"),
        ("python", "Python"),
    ):
        here, there = getattr(head, what), getattr(other, what)
        if here != there:
            yield f"{words}: {_told(there)} against {_told(here)}"
    if cuda_index(device) is None:
        return
    here, there = ({gpu.name for gpu in facts.gpus} for facts in (head, other))
    if here != there:
        yield f"GPU: {', '.join(sorted(there))} against {', '.join(sorted(here))}"


def _told(fact: str | float | None) -> str:
    return f"{fact:g}" if isinstance(fact, float) else str(fact or "unknown")
