"""fio: its options, what of them is honest, its command line, its reports, and running it."""
