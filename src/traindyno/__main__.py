"""`python -m traindyno` and the `traindyno` command."""

from traindyno.cli.main import main

if __name__ == "__main__":
    main()
