"""One module for each group of pages of the console. Public: their routers, for `console.app`."""
