"""`roebot init`: guided setup."""
