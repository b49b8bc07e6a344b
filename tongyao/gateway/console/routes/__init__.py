"""One module for each page of the console, named after it. Public: the router of each, for `console.app`."""
