"""A round about depth as the commands' tests write it, each with its own budget and seeds."""


def depth_round(
    *,
    trials: int,
    top: str = "",
    job: str = "",
    epochs: int = 10,
    seeds: str = "",
    low: float = 0.01,
    rate: float = 0.03,
) -> str:
    """The file's text; `top`, `job` and `seeds` are further lines of its head, of [job], and the table [seeds]."""
    return f"""
name = "depth"
{top}[goal]
kind = "helps"
question = "Does a deeper network help?"
[job]
model = "mlp:64"
data = "digits:"
{job}batch_size = 64
epochs = {epochs}
schedule = "constant"
[budget]
trials = {trials}
{seeds}[target.model]
values = ["mlp:64", "mlp:64x64"]
[nuisance.learning_rate]
low = {low}
high = 1.0
scale = "log"
[fixed.momentum]
value = 0.9
[fixed.label_smoothing]
value = 0.0
[fixed.weight_decay]
value = 0.0
[incumbent]
learning_rate = {rate}
"""
