"""One object of each open kind, from a package that is not tongues; its entry points name them."""
