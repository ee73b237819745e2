"""Every torchvision classifier is built as published; a few take a real step."""

import pytest
import torch
import torchvision
from torch import nn

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.job import Job, build_job
from traindyno.worker.losses import score_loss
from traindyno.worker.models import torchvision_models

ALL_NAMES = torchvision.models.list_models(module=torchvision.models)
META = torch.device("meta")


def spec(name: str, **fields: object) -> WorkloadSpec:
    return WorkloadSpec(model=f"torchvision:{name}", **fields)  # type: ignore[arg-type]


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters without memory, also for models whose construction computes with tensors."""
    register = nn.Module.register_parameter

    def register_on_meta(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        register(module, name, None if parameter is None else nn.Parameter(parameter.to(META)))

    monkeypatch.setattr(nn.Module, "register_parameter", register_on_meta)


@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize("name", ALL_NAMES)
def test_every_classifier_scores_images_of_its_default_size(name: str) -> None:
    built = torchvision_models.build(name, spec(name, classes=7))
    output = built.model.to(META).eval()(torch.empty(2, *built.input_shape, device=META))
    assert output.shape == (2, 7)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("resnet50", 224),
        ("inception_v3", 299),
        ("efficientnet_b4", 380),
        ("vit_h_14", 518),
        ("swin_v2_t", 256),
    ],
)
def test_the_default_image_size_is_the_published_one(name: str, size: int) -> None:
    assert torchvision_models.default_image_size(name) == size


def first_step(job: Job, batch_size: int = 2) -> torch.Tensor:
    batch = job.batch(batch_size, torch.device("cpu"), seed=1)
    model = job.model.train()
    optimizer = job.make_optimizer(model.parameters())
    loss = job.loss(model, batch)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert all(parameter.grad is not None for parameter in model.parameters())
    return loss.detach()


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("resnet18", 32),
        ("mobilenet_v2", 32),
        ("inception_v3", 299),
        ("googlenet", 64),
        ("vit_b_16", 32),
        ("swin_t", 64),
    ],
)
def test_a_training_step_reaches_every_parameter(name: str, size: int) -> None:
    job = build_job(spec(name, image_size=size, classes=10))
    assert torch.isfinite(first_step(job))
    assert job.examples_in_data is None


@pytest.mark.parametrize(("name", "size", "weight"), [("inception_v3", 299, 0.4), ("googlenet", 64, 0.3)])
def test_auxiliary_heads_count_with_their_published_weight(name: str, size: int, weight: float) -> None:
    job = build_job(spec(name, image_size=size, classes=10))
    outputs: list[tuple[torch.Tensor, ...]] = []
    job.model.register_forward_hook(lambda module, inputs, output: outputs.append(tuple(output)))
    images, target = job.batch(2, torch.device("cpu"), seed=1)
    loss = job.loss(job.model.train(), (images, target))
    main, *auxiliary = (score_loss(scores, target) for scores in outputs[0])
    assert len(auxiliary) == (1 if name == "inception_v3" else 2)
    torch.testing.assert_close(loss, main + weight * sum(auxiliary))


@pytest.mark.parametrize(("name", "size"), [("inception_v3", 75), ("googlenet", 32)])
def test_inference_does_without_auxiliary_heads(name: str, size: int) -> None:
    job = build_job(spec(name, image_size=size, mode="infer"))
    assert not [name for name, _ in job.model.named_parameters() if "aux" in name]
    images = job.batch(2, torch.device("cpu"))
    assert job.predict(job.model.eval(), images).shape == (2, 1000)


@pytest.mark.parametrize(("name", "size"), [("resnet18", 32), ("inception_v3", 299)])
def test_a_batch_of_one_trains_although_batch_norm_sees_single_values(name: str, size: int) -> None:
    assert torch.isfinite(first_step(build_job(spec(name, image_size=size, classes=10)), batch_size=1))


@pytest.mark.parametrize(
    ("name", "size"),
    [("inception_v3", 32), ("vit_b_16", 50), ("alexnet", 16), ("maxvit_t", 100), ("vgg11", 16)],
)
def test_an_image_size_the_model_cannot_take_is_a_usage_error(name: str, size: int) -> None:
    with pytest.raises(UsageError, match=f"torchvision:{name} cannot take images of {size} px") as raised:
        build_job(spec(name, image_size=size))
    assert f"{torchvision_models.default_image_size(name)} px" in str(raised.value.hint)


def test_maxvit_is_built_for_the_asked_size() -> None:
    with torch.device("meta"):
        built = torchvision_models.build("maxvit_t", spec("maxvit_t", image_size=448, classes=3))
        assert built.model(torch.empty(2, *built.input_shape)).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("fasterrcnn_resnet50_fpn", "detection"),
        ("deeplabv3_resnet50", "segmentation"),
        ("r3d_18", "video"),
        ("raft_small", "optical-flow"),
        ("quantized_resnet18", "quantized"),
    ],
)
def test_models_of_other_tasks_are_refused_by_their_task(name: str, task: str) -> None:
    with pytest.raises(UsageError, match=f"{task} model") as raised:
        build_job(spec(name))
    assert "Workload" in str(raised.value.hint)


def test_a_device_given_to_the_builder_holds_the_parameters() -> None:
    job = build_job(spec("squeezenet1_1"), device=META)
    assert {parameter.device for parameter in job.model.parameters()} == {META}
