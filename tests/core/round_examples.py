"""A round's file that is right, to be changed in one place."""

DEPTH = """
name = "depth"
campaign = "digits"
minimum_gain = 0.002
[goal]
kind = "helps"
question = "Does a deeper network help?"
[job]
model = "mlp:64"
data = "digits:"
optimizer = "sgd"
batch_size = 64
epochs = 10
schedule = "constant"
[metric]
name = "accuracy"
[budget]
trials = 16
[seeds]
gate = 3
adopt = 6
[target.model]
values = ["mlp:64", "mlp:64x64", "mlp:64x64x64"]
[nuisance.learning_rate]
low = 0.003
high = 1.0
scale = "log"
[fixed.weight_decay]
value = 0.0
caveat = "nobody decays weights here"
[incumbent]
model = "mlp:64"
learning_rate = 0.1
"""

OPTIMIZERS = """
name = "optimiser"
[goal]
kind = "effect"
[job]
model = "mlp:64"
data = "digits:"
batch_size = 64
[budget]
hours = 0.5
[target.optimizer]
values = ["sgd", "adam"]
"""

OWN = """
name = "own"
[goal]
kind = "helps"
[job]
function = "train.py:run"
[metric]
name = "score"
higher_is_better = true
[budget]
trials = 20
[target.width]
values = [16, 32]
[nuisance.layers]
low = 1
high = 4
integer = true
[incumbent]
width = 16
layers = 2
"""


def changed(text: str, before: str, after: str) -> str:
    """The text with one part replaced, which must be there."""
    assert before in text
    return text.replace(before, after, 1)
