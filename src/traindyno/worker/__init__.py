"""The inside of a trial: models, data, the step, timers. The only package that imports torch."""
