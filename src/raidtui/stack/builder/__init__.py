"""The builder: a child process of the runner in which blivet creates and destroys what layers consist of.

blivet, libblockdev and their LVM filter, locks and log handlers belong to a whole process, so they are loaded here alone,
and only when something is built. blivet never scans the server: its objects are made from the devices that a step names.
`process.py` is the runner's side, `serve.py` the child's, `libraries.py` sets blivet up. The functions that a layer calls
(`context.builder.call("md.create", …)`) are in `stack/LAYER/builder.py`.
"""
