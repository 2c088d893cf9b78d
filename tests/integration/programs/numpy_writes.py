"""Writes arrays in the ways that numpy has, in the current directory."""

import numpy as np

values = np.arange(40_000, dtype="f8")
values.tofile("tofile")
np.save("saved.npy", values)
np.savez("several.npz", a=values[:100], b=values[:200])
np.savetxt("text.txt", values[:1000])
mapped = np.memmap("memmap", dtype="f8", mode="w+", shape=values.shape)
mapped[:] = values
mapped.flush()
