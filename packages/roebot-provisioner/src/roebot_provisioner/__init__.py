"""The service that runs commands for other machines' threads: `python -m roebot_provisioner`.

It talks to its pods as Roebot talks to it, so it needs no right to `exec` in Kubernetes. A pod's token
derives from the service's token and the pod's name; nothing is stored, and pods are found by label after a
crash.
"""
