"""The processor's settings: one frozen object, read once, every wrong value reported at once.

declaring.py  how a setting is declared
fields.py     what can be set: names, defaults, limits, who sets it
values.py     how text from the environment becomes a value
checks.py     what must hold between settings
model.py      `Settings`: the fields, the checks and the sources together
loading.py    `load_settings`: what a process calls at its start
"""

from streams.errors import SettingsError
from streams.settings.loading import load_settings
from streams.settings.model import Settings

__all__ = ["Settings", "SettingsError", "load_settings"]
