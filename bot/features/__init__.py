"""Features of the service, each whole in one package. None imports another, and the kernel imports none."""
