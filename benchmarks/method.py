"""How the figures came about, in words, for the document."""

METHOD = """\
`ours / theirs` throughout; theirs is the public package `reme-ai` 0.4.2.0 in an environment of its own.

- Every run is a process of its own. Both sides get the same history, generated from the same seed: a quarter of the \
results each is code, log lines, JSON and prose, no two are equal, each has exactly the stated number of characters. \
Usually a message holds one pair; "one message" is a history whose single assistant message holds all of them.
- The decision model answers at once and knows the answer about every pair beforehand; 85 in 100 are not needed, and \
no two are equally probable. `previews` says whether both replaced the same results.
- The host's token counter takes four characters of JSON for one token. `additive` counts one message (one block in \
"one message") at a time, `opaque` only whole histories; theirs knows only opaque ones.
- A compaction of 8 pairs goes before, so that what is loaded on first use is loaded. Ours and theirs take turns; \
times, memory and stalls are medians of the rounds, and of repetitions in one process where a compaction takes less \
than a quarter of a second. CPU is of all threads.
- Peak memory is the process's high-water mark during the compaction, set back once the input exists, less the memory \
in use then.
- `loop stalled` is the longest time in which a task that wants to run every 5 ms could not; `less counter` leaves out \
the time that the host's own counter took meanwhile.
- A compaction past its limit is ended; the figure is then "more than" the limit and the ratio a lower bound.
- `characters sent` are those of state and questions of all requests as compact JSON."""
