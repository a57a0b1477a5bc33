"""Features of the service, each self-contained in one package. No feature imports another, and the kernel
imports none.
"""
