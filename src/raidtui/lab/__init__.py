"""Throwaway storage servers in virtual machines, for tests and demonstrations."""
