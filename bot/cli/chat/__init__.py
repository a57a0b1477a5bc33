"""`roebot chat`: the terminal client."""
