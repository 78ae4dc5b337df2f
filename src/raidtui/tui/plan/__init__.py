"""Parts of the screen Plan: overview, steps, and the dialogs for options and consent."""
