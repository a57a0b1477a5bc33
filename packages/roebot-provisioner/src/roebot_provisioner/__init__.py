"""The service that runs the commands of other machines' threads: `python -m roebot_provisioner`."""
