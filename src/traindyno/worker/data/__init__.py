"""Data of a workload: where examples are stored, how they are decoded, cropped, batched and placed on the device."""
