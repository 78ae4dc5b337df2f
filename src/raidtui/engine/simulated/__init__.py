"""A simulated server: recorded disks, a fake kernel, and numbers from a simple model. Every result of it is marked.

It tries screens, plans and whole runs in seconds without hardware, root or QEMU. It decides nothing about storage: what the
real tools do is only known from the lab and from real servers.
"""
