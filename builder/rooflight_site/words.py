"""What the site says in words about states and roles that the engine names with one word."""

CONFIG_STATES: dict[str, str] = {
    "complete": "The published config was at hand and looks whole. It was not compared with the hub's copy.",
    "nearly complete": "The published config was at hand; a few fields that set no dimension were missing "
    "and were filled in.",
    "reordered": "The config's dimensions are usable, but the file was edited by hand before it was found.",
    "partial": "Part of the published config was at hand; what it leaves out is not counted here.",
    "reconstructed": "The config was rebuilt from documented values, not read from the publisher's file. "
    "Believe it as far as the checks below reach.",
}

UNKNOWN_STATE = "How complete the config is has not been recorded."

MARKS: dict[str, str] = {
    "complete": "full",
    "nearly complete": "most",
    "reordered": "most",
    "partial": "half",
    "reconstructed": "open",
}


def config_state(state: str) -> str:
    """One or two sentences on what a config state means."""
    return CONFIG_STATES.get(state, UNKNOWN_STATE)


def mark(state: str) -> str:
    """The sign that stands for a config state; read with the word, never alone."""
    return MARKS.get(state, "open")
