"""`python -m tongues`."""

from tongues.verbs import main

if __name__ == "__main__":
    main()
