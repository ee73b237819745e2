"""Between ledger records and the exported document, in both directions."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from traindyno.core.answers import (
    AccuracyAnswer,
    AdoptAnswer,
    AnatomyAnswer,
    CompareAnswer,
    Document,
    FindAnswer,
    LedgerAnswer,
    LoaderAnswer,
    MaxBatchAnswer,
    NoiseScaleAnswer,
    PlanAnswer,
    RoundAnswer,
    ScaleAnswer,
    SoakAnswer,
    StallsAnswer,
    SwitchesAnswer,
    TargetAnswer,
    ThroughputAnswer,
    TrainAnswer,
    VerifyAnswer,
)
from traindyno.core.errors import TraindynoError
from traindyno.core.records import TrialRecord

SCHEMA = "traindyno/1"
ANSWERS: dict[str, type[msgspec.Struct]] = {
    "max-batch": MaxBatchAnswer,
    "throughput": ThroughputAnswer,
    "plan": PlanAnswer,
    "compare": CompareAnswer,
    "loader": LoaderAnswer,
    "stalls": StallsAnswer,
    "anatomy": AnatomyAnswer,
    "switches": SwitchesAnswer,
    "soak": SoakAnswer,
    "find": FindAnswer,
    "verify": VerifyAnswer,
    "train": TrainAnswer,
    "accuracy": AccuracyAnswer,
    "noise-scale": NoiseScaleAnswer,
    "target": TargetAnswer,
    "scale": ScaleAnswer,
    "round run": RoundAnswer,
    "round analyse": RoundAnswer,
    "round adopt": AdoptAnswer,
    "round ledger": LedgerAnswer,
}


def trial_entry(record: TrialRecord) -> dict[str, Any]:
    """One entry of a document's `trials`: a measurement or a failure, never both."""
    spec = record.spec
    entry = {
        "kind": spec.kind,
        "model": spec.workload.model,
        "data": spec.workload.data,
        "feed": msgspec.to_builtins(spec.feed),
        "settings": msgspec.to_builtins(spec.settings),
        "outcome": record.outcome.value,
        "seconds": record.seconds,
        "repeat": spec.repeat,
        "seed": spec.seed,
        "margin": spec.margin,
        "conditions": msgspec.to_builtins(record.conditions),
    }
    if spec.recipe is not None:
        entry["recipe"] = msgspec.to_builtins(spec.recipe)
    if spec.workload.arguments:
        entry["arguments"] = dict(spec.workload.arguments)
    if spec.draw is not None:
        entry["draw"] = msgspec.to_builtins(spec.draw)
    if spec.group is not None:
        entry["group"] = msgspec.to_builtins(spec.group)
    if spec.against is not None:
        entry["against"] = msgspec.to_builtins(spec.against)
    if record.series is not None:
        entry["series"] = msgspec.to_builtins(record.series)
    if record.measurement is not None:
        return entry | {"measurement": msgspec.to_builtins(record.measurement)}
    return entry | {"failure": None if record.failure is None else msgspec.to_builtins(record.failure)}


def typed_answer(document_json: dict[str, Any]) -> Document:
    """Read an exported document back, its answer as the record its command answers with."""
    _check_readable(document_json)
    kind = ANSWERS[document_json["command"]]
    raw = document_json.get("answer")
    try:
        answer = tuple(_record(item, kind) for item in raw) if isinstance(raw, list) else _record(raw, kind)
        document: Document = _record(document_json | {"answer": None}, Document)
    except msgspec.ValidationError as error:
        raise TraindynoError(
            f"the {document_json['command']} document is damaged: {error}",
            "export it again with `traindyno report STUDY FILE.json`",
        ) from error
    return msgspec.structs.replace(document, answer=answer)


def answers_of(document: Document) -> tuple[Any, ...]:
    """The document's answers, one for each model; none while nothing has been concluded."""
    if document.answer is None:
        return ()
    if isinstance(document.answer, Sequence) and not isinstance(document.answer, str):
        return tuple(document.answer)
    return (document.answer,)


def is_simulated(document: Document) -> bool:
    return any(getattr(answer, "simulated", False) for answer in answers_of(document))


def _check_readable(document_json: Any) -> None:
    hint = "give a file written by --export-json or --json, or the name of a study"
    if not isinstance(document_json, dict) or "schema" not in document_json:
        raise TraindynoError("this is not a traindyno document: it names no schema", hint)
    if document_json["schema"] != SCHEMA:
        raise TraindynoError(
            f"schema {document_json['schema']!r} is not known here (this version reads {SCHEMA!r})",
            "read it with the version of traindyno that wrote it",
        )
    if "error" in document_json:
        raise TraindynoError("the document holds an error instead of an answer", hint)
    if document_json.get("command") not in ANSWERS:
        raise TraindynoError(
            f"a document of {document_json.get('command')!r} holds no answer that can be read back",
            f"documents of {', '.join(ANSWERS)} can",
        )


def _record(raw: Any, kind: type[msgspec.Struct]) -> Any:
    if raw is None:
        return None
    return msgspec.convert(_as_written(raw, msgspec.inspect.type_info(kind)), kind)


def _as_written(raw: Any, info: msgspec.inspect.Type) -> Any:
    """Strict JSON has no not-a-number: null comes back as it where a number must stand.

    Fields that this version does not know are left out: a schema only ever gains fields.
    """
    if raw is None and isinstance(info, msgspec.inspect.FloatType):
        return math.nan
    if isinstance(info, msgspec.inspect.UnionType):
        return raw if raw is None else _as_written(raw, _present(info))
    if isinstance(info, msgspec.inspect.StructType) and isinstance(raw, dict):
        fields = {field.encode_name: field.type for field in info.fields}
        return {key: _as_written(item, fields[key]) for key, item in raw.items() if key in fields}
    if isinstance(info, msgspec.inspect.VarTupleType) and isinstance(raw, list):
        return [_as_written(item, info.item_type) for item in raw]
    if isinstance(info, msgspec.inspect.DictType) and isinstance(raw, dict):
        return {key: _as_written(item, info.value_type) for key, item in raw.items()}
    if isinstance(info, msgspec.inspect.TupleType) and isinstance(raw, list):
        return [_as_written(item, kind) for item, kind in zip(raw, info.item_types, strict=False)]
    return raw


def _present(info: msgspec.inspect.UnionType) -> msgspec.inspect.Type:
    """What an optional field holds when it holds something."""
    return next(kind for kind in info.types if not isinstance(kind, msgspec.inspect.NoneType))
