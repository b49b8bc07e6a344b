"""What the commands do. A module is imported when a command of its group is called: help and parsing need none of it."""
