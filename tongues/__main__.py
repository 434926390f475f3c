"""`python -m tongues`."""

from tongues.cli import main

if __name__ == "__main__":
    main()
