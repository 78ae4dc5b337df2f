"""Every problem code of this package, for `raidtui explain`: title, meaning, way out."""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "fio-fsync-on-read": (
        "A flush after reads",
        "fsync, fdatasync, end_fsync and sync make writes durable. A workload that only reads has nothing to make durable, "
        "so fio would ignore them and the result would carry a word that means nothing.",
        "Remove the option, or use rw=write, randwrite or a mix.",
    ),
    "fio-queue-depth": (
        "Queue depth with a synchronous engine",
        "psync, pvsync2 and sync wait for each operation before the next one: the queue never holds more than one.",
        "Use ioengine=io_uring or libaio, or set iodepth to 1 and use numjobs for parallelism.",
    ),
    "fio-buffered": (
        "Page cache measured without saying so",
        "Without O_DIRECT the numbers are those of the machine's memory as much as of its disks.",
        "Leave direct at true; or say why in why_buffered when the page cache is what you want to measure.",
    ),
    "fio-buffered-async": (
        "A queue in front of the page cache",
        "libaio without O_DIRECT blocks in the submission: the queue depth asked for is never reached.",
        "Use direct=true, or ioengine=io_uring, or a synchronous engine.",
    ),
    "fio-block-size": (
        "Block size missing, given twice, or out of range",
        "A workload has either one block size (bs) or a mix (bssplit). Blocks are 512 bytes to 64 MiB, and the shares of a "
        "mix add up to 100.",
        'Write one of them, such as "bs": "4KiB" or "bssplit": "4KiB/60:64KiB/40".',
    ),
    "fio-block-not-sectors": (
        "Blocks that are not whole sectors",
        "O_DIRECT moves whole sectors: blocks and the places where they begin are multiples of at least 512 bytes.",
        "Use multiples of 512 bytes; of 4096 on disks with 4 KiB sectors.",
    ),
    "fio-block-larger-than-region": (
        "Blocks larger than the region",
        "Not one operation fits into the region.",
        "Use a larger size or a smaller bs.",
    ),
    "fio-region-larger-than-target": (
        "Region larger than the target",
        "offset, size and the offset_increment of all jobs reach beyond the end of the smallest device measured.",
        'Make the region smaller, or give it as a share of the target, such as "80%".',
    ),
    "fio-zero": (
        "Zero where fio takes it for no limit",
        "fio reads a zero size, rate or latency as if the option had not been given.",
        "Remove the option or give it a value.",
    ),
    "fio-runtime": (
        "Runtime out of range",
        "Under a second the start and the end of the workload are most of what is measured; above a week it is no "
        "benchmark any more.",
        "Use a runtime of 1s to 7d; a ramp_time of at most 1d.",
    ),
    "fio-mix": (
        "A share of reads without a mix",
        "rwmixread divides operations between reads and writes; this workload does only one of them.",
        "Use rw=randrw or rw=readwrite, or remove rwmixread.",
    ),
    "fio-random-only": (
        "An option for random offsets on a sequential workload",
        "fio ignores it when offsets are sequential.",
        "Use rw=randread, randwrite or randrw, or remove the option.",
    ),
    "fio-distribution": (
        "Distribution out of range",
        "zipf takes θ above 0 and not 1; pareto takes h between 0 and 1; normal takes 0 to 100 percent; the zones of zoned "
        "have shares of accesses and of the region that add up to 100 each.",
        'Write for instance "zipf:1.2", "pareto:0.2", "normal:20" or "zoned:60/10:40/90".',
    ),
    "fio-write-only": (
        "An option about written data on a workload that does not write",
        "Reads return what is on the disks; fio makes no data for them.",
        "Remove the option. What the region holds is decided by prefill.",
    ),
    "fio-data": (
        "Data asked for twice",
        "refill_buffers makes data that can be neither compressed nor deduplicated; the percentages ask for the opposite.",
        "Use one or the other.",
    ),
    "fio-latency-target": (
        "An incomplete search for a latency",
        "latency_window and latency_percentile belong to latency_target; the search varies the queue depth, so it needs "
        "iodepth above 1, and a window that fits into the runtime.",
        "Give latency_target, a latency_window below the runtime, and an iodepth to search in.",
    ),
    "fio-two-rates": (
        "Two limits of the same thing",
        "With both rate and rate_iops fio keeps only to one of them.",
        "Use one.",
    ),
    "fio-batch": (
        "Batches that never fill",
        "A batch cannot be larger than the queue (iodepth), nor its least number above its most, and synchronous engines "
        "have no batches.",
        "Make batches at most as large as iodepth.",
    ),
    "fio-engine-option": (
        "An option of another I/O engine",
        "hipri belongs to io_uring and pvsync2; fixedbufs and registerfiles to io_uring.",
        "Set ioengine accordingly or remove the option.",
    ),
    "fio-offset-increment": (
        "Distance between jobs with one job",
        "offset_increment moves the second and later jobs; there are none.",
        "Use numjobs above 1 or remove it.",
    ),
    "fio-files": (
        "Files where there are none, or a region where there are files",
        "nrfiles, filesize and overwrite are about files in a directory; offset and offset_increment about a region of a "
        "block device. Files have one size each, a multiple of 4096 bytes.",
        "Remove the option, or measure the other kind of target.",
    ),
    "fio-memory": (
        "Buffers larger than 4 GiB",
        "numjobs × iodepth × the largest block is memory that fio takes per device; this could exhaust the server.",
        "Use a smaller queue, fewer jobs or smaller blocks.",
    ),
    "fio-missing": (
        "fio is not installed",
        "No fio was found in the system's own directories.",
        "Install it: apt install fio.",
    ),
    "fio-not-started": (
        "fio could not be started",
        "The system refused to start the process.",
        "The message says why; a full process table and missing memory are usual reasons.",
    ),
    "fio-target": (
        "The target is not what it was",
        "What raidtui holds open is not a block device of the stated size. A device that goes away has size 0, and fio "
        "given its name would measure memory.",
        "Look at the kernel log; the disk was probably lost. Plan again.",
    ),
    "pg-missing": (
        "pg_test_fsync is not installed",
        "It comes with the PostgreSQL server and was found neither beside it nor in the system's own directories.",
        "Install it: apt install postgresql; the server itself need not run.",
    ),
    "pg-dedup": (
        "The same bytes on a layout that deduplicates",
        "pg_test_fsync writes one buffer of random bytes over and over; of that a deduplicating layout keeps one copy.",
        "Turn deduplication off in the layout, or write with fio and an fsync after each write.",
    ),
    "pg-room": (
        "No room for pg_test_fsync's file",
        "It writes a file of 16 MiB, and copies of its blocks.",
        "Use larger disks.",
    ),
    "iozone-record": (
        "Record size out of range",
        "Records of iozone are powers of two, 4 KiB to 16 MiB.",
        "Use 4KiB for a database's pages, 64KiB or 1MiB for files.",
    ),
    "iozone-size": (
        "A file that does not fit, or has too few records",
        "The file is written whole before it is read; a pass over a few records measures nothing.",
        'Use another size, or a share of the directory, such as "10%".',
    ),
    "iozone-pattern": (
        "One pattern on a layout that compresses or deduplicates",
        "iozone fills its records with the same pattern, which such a layout does not keep: reads and writes then hardly "
        "reach the disks.",
        "Turn compression and deduplication off in the layout, or use fio and say buffer_compress_percentage.",
    ),
    "dd-block": (
        "Block size out of range",
        "Blocks of dd are multiples of 512 bytes, up to 1 GiB.",
        "Use 1MiB, or what your application writes at once.",
    ),
    "dd-buffered": (
        "Page cache measured without saying so",
        "Without direct, dsync, sync or an fsync at its end, dd measures the machine's memory as much as its disks.",
        'Use "flag": "direct", or "conv": "fsync"; or say why in why_buffered.',
    ),
    "dd-durable-read": (
        "A flush after reads",
        "fsync, dsync and sync make writes durable; reading leaves nothing to do for them.",
        "Remove the option.",
    ),
    "dd-zeroes": (
        "Zeroes on a layout that compresses or deduplicates",
        "dd writes zeroes, which such a layout does not keep: what would be measured is how fast they are thrown away.",
        "Turn compression and deduplication off in the layout, or write with fio and say buffer_compress_percentage.",
    ),
    "dd-size": (
        "More than the target has, or less than a block",
        "size is what is written or read from the beginning of the target.",
        'Use a smaller size or a share of the target, such as "50%".',
    ),
    "dd-one-device": (
        "dd on several devices at once",
        "dd moves one stream.",
        "Measure disks each alone (mode each), or use fio.",
    ),
    "tool-not-started": (
        "The measuring tool could not be started",
        "The system refused to start the process.",
        "The message says why; a full process table and missing memory are usual reasons.",
    ),
    "stopped-early": (
        "It did not run to its end",
        "The workload was stopped, or ended by itself, before it had run as long or moved as much as it was asked to.",
        "Look for other marks of the cell and at dmesg, and run the cell again (--layout, --workload).",
    ),
    "jobs-missing": (
        "Not all jobs ran",
        "The sum of what the jobs ran is less than it must be: one of them ended early, or never began.",
        "Look at dmesg and at the free memory, and run the cell again (--layout, --workload).",
    ),
    "io-error": (
        "The devices answered with errors",
        "An operation failed. A disk or a member of an array is failing, or went away; or the filesystem is full.",
        "Look at dmesg and at the disks (smartctl), and run the cell again (--layout, --workload).",
    ),
    "stuck": (
        "The device does not answer",
        "I/O hangs in the kernel and the process that waits for it cannot be killed. Nothing that raidtui does can end it.",
        "See /proc/PID/task/*/stack and the kernel log. When the device answers again, `raidtui recover` takes the run "
        "down; else the server must be rebooted.",
    ),
}
