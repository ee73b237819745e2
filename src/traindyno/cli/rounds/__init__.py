"""Commands of `traindyno round`, one file each."""
