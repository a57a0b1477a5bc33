"""The configuration in force and the models it provides, checked and reloaded on change."""
