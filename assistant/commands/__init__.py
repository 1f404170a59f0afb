"""One module a command of the command line. Each imports what it needs only when it runs, so that starting stays quick."""
