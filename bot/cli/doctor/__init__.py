"""`roebot doctor`: checks of the installation."""
