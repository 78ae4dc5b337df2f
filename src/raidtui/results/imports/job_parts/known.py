"""What happens to fio's options that a scenario does not have: why each can be left out, or never is."""

from __future__ import annotations

from typing import Final

_TARGET: Final = "left out: what is measured is said by the layout"
_REPORT: Final = "left out: raidtui reports and keeps its series in its own way"
_ORDER: Final = "left out: workloads run one after another"
_FILES: Final = "left out: raidtui lays its files out, and removes them, in its own way"
_FIXED: Final = "left out: raidtui runs fio with threads, and stops at the first error"

LEFT_OUT: Final = {
    **dict.fromkeys(("filename", "directory", "filename_format", "unique_filename", "lockfile", "allow_mounted_write",
                     "allow_file_create"), _TARGET),
    **dict.fromkeys(("name", "description", "group_reporting", "write_bw_log", "write_lat_log", "write_iops_log",
                     "write_hist_log", "bwavgtime", "iopsavgtime", "log_avg_msec", "log_hist_msec", "log_hist_coarseness",
                     "log_entries", "log_max_value", "log_offset", "log_prio", "log_compression", "log_compression_cpus",
                     "log_store_compressed", "log_unix_epoch", "log_alternate_epoch", "per_job_logs", "clat_percentiles",
                     "lat_percentiles", "slat_percentiles", "percentile_list", "significant_figures", "disk_util",
                     "unified_rw_reporting", "block_error_percentiles", "stats", "unit_base", "kb_base"), _REPORT),
    **dict.fromkeys(("stonewall", "wait_for", "exitall", "exit_what", "new_group", "startdelay"), _ORDER),
    **dict.fromkeys(("create_serialize", "create_fsync", "create_on_open", "fallocate", "unlink", "unlink_each_loop",
                     "openfiles", "file_append"), _FILES),
    **dict.fromkeys(("thread", "exitall_on_error"), _FIXED),
    "userspace_reap": "left out: it changes how completions are fetched, not what is measured",
}  # fmt: skip
"""Left out and said: without them the same is measured."""

HARMLESS: Final[dict[str, set[str | None]]] = {
    "invalidate": {"1", None},
    "scramble_buffers": {"1", None},
    "loops": {"1"},
    "pre_read": {"0"},
    "zero_buffers": {"0"},
    "gtod_reduce": {"0"},
    "thinktime_blocks": {"1"},
    "thinktime_spin": {"0"},
    "file_service_type": {"roundrobin"},
    "latency_run": {"0"},
    "do_verify": {"0"},
    "verify": {"0"},
    "random_generator": {"tausworthe"},
    "io_submit_mode": {"inline"},
    "continue_on_error": {"none"},
    "fadvise_hint": {"0", "1"},
    "iodepth_mode": {"stepped"},
    "create_only": {"0"},
    "zonemode": {"none"},
    "ignore_error": {"0"},
    "mem": {"malloc"},
    "fsync_on_close": {"0"},
    "fill_device": {"0"},
    "sync_file_range": {"0"},
    "allrandrepeat": {"0"},
    "rate_ignore_thinktime": {"0"},
    "rw_sequencer": {"sequential"},
    "rate_process": {"linear"},
    "norandommap": {"0"},
}
"""Values that say what fio does anyway."""

NEVER: Final = {
    "exec_prerun": "runs a command",
    "exec_postrun": "runs a command",
    "program": "runs a command",
    "arguments": "runs a command",
    "include": "opens a file",
    "read_iolog": "opens a file",
    "write_iolog": "opens a file",
    "opendir": "opens files",
    "replay_redirect": "picks a device by itself",
    "merge_blktrace_file": "opens a file",
    "verify_state_load": "opens a file",
    "verify_state_save": "opens a file",
    "ioscheduler": "changes the server",
    "cgroup": "changes the server",
    "uid": "changes the user",
    "gid": "changes the user",
    "profile": "makes jobs of its own",
}
"""What raidtui never does because a file says so."""
